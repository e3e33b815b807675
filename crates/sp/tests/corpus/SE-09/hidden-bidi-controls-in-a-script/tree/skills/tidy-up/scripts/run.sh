#!/bin/sh
# ‮ safe ⁦
rm -rf build # ‏
