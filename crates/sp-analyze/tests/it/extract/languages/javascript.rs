//! JavaScript, with CommonJS and ES modules.

use super::*;

const JAVASCRIPT: &str = r#"
== package.json
{ "name": "tools", "main": "lib/index.js" }
== lib/index.js
'use strict';
const { parse, format } = require('./parse');
const walk = require('./walk.cjs');

/** Runs it. */
function run(text) {
  return format(walk(parse(text)));
}

function quiet() {}

module.exports = { run };
== lib/parse.js
exports.parse = function parse(text) {
  return text;
};

function format(value) {
  return value;
}
exports.format = format;
== lib/walk.cjs
module.exports = function walk(tree) {
  return tree;
};
== esm/mod.mjs
import { helper } from "./helper.mjs";
export default function () {
  return helper();
}
export function* numbers() {
  yield helper();
}
== esm/helper.mjs
export const helper = function () {
  return 1;
};
== test/run.js
const { run } = require("../lib");

test("runs", () => {
  run("a");
});
"#;

#[test]
fn pk_21_javascript_exports_of_both_module_systems() {
    let extracted = graph(&files(JAVASCRIPT));
    assert_snapshot!(code(&extracted), @"
    file esm/helper.mjs 1-3: `esm/helper.mjs` (JavaScript, 3 lines)⏎Defines helper.
    function helper.mjs#helper 1-3: `export const helper = function ()`
    file esm/mod.mjs 1-7: `esm/mod.mjs` (JavaScript, 7 lines)⏎Defines numbers.
    function mod.mjs#numbers 5-7: `export function* numbers()`
    file lib/index.js 1-12: `lib/index.js` (JavaScript, 12 lines)⏎Defines run.
    function index.js#run 6-8: `function run(text)`⏎Runs it.
    file lib/parse.js 1-8: `lib/parse.js` (JavaScript, 8 lines)⏎Defines format.
    function parse.js#format 5-7: `function format(value)`
    file lib/walk.cjs 1-3: `lib/walk.cjs` (JavaScript, 3 lines)
    file test/run.js 1-5: `test/run.js` (JavaScript, 5 lines)⏎Tests runs.
    test run.js#runs 3-5: test `runs`
    ");
    assert_snapshot!(edges(&extracted), @"
    esm/helper.mjs -contains-> helper.mjs#helper
    esm/mod.mjs -calls-> helper.mjs#helper
    esm/mod.mjs -contains-> mod.mjs#numbers
    esm/mod.mjs -imports-> esm/helper.mjs
    index.js#run -calls-> parse.js#format
    index.js#run -tested_by-> run.js#runs
    lib/index.js -contains-> index.js#run
    lib/index.js -imports-> lib/parse.js
    lib/index.js -imports-> lib/walk.cjs
    lib/parse.js -contains-> parse.js#format
    mod.mjs#numbers -calls-> helper.mjs#helper
    test/run.js -contains-> run.js#runs
    test/run.js -imports-> lib/index.js
    ");
}
