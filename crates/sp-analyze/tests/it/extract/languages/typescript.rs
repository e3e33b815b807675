//! TypeScript, and components in TSX and JSX.

use super::*;

const TYPESCRIPT: &str = r#"
== package.json
{ "name": "@acme/cart" }
== src/cart.ts
/**
 * The cart of a customer.
 * @packageDocumentation
 */
import type { Item } from "./item";
import { priced, type Price } from "@/price";
import * as tax from "./tax";
import { log as say } from "./util";
import round from "./round";

/** What a cart can be. */
export type State = "open" | "paid";

export interface Line<T extends Item = Item> {
  readonly item: T;
  count: number;
  total(): Price;
}

export enum Size {
  Small = "s",
  Large = "l",
}

/**
 * A cart.
 *
 * @param items what is in it
 */
@sealed
export abstract class Cart<T extends Item> extends Base {
  private items: T[] = [];
  static most = 10;
  #hidden = 1;

  constructor(items: T[]) {
    super();
    this.items = items;
  }

  /** What all of it costs. */
  async total(): Promise<Price> {
    say("total");
    this.check();
    return priced(round(tax.added(1)));
  }

  private check(): void {
    internal();
  }

  abstract close(): void;
}

function internal() {
  return 1;
}

/** Twice as much. */
export const twice = async <T,>(value: T): Promise<T> => value;

const hidden = () => 2;

function later() {
  return 3;
}

export { later };
== src/item.ts
export interface Item {
  id: string;
}
== src/price.ts
export type Price = number;
export function priced(value: number): Price {
  return value;
}
== src/tax/index.ts
export { added } from "./rates.js";
== src/tax/rates.ts
export function added(value: number): number {
  return value * 2;
}
== src/util.ts
export function log(text: string): void {}
== src/round.ts
export default function round(value: number): number {
  return Math.round(value);
}
== src/cart.test.ts
import { twice, Cart } from "./cart";

describe("twice", () => {
  it("doubles", async () => {
    await twice(1);
  });
  it("is nobody's test", () => {});
});
"#;

#[test]
fn pk_21_typescript_symbols_are_exported() {
    assert_snapshot!(code(&graph(&files(TYPESCRIPT))), @r#"
    file src/cart.test.ts 1-8: `src/cart.test.ts` (TypeScript, 8 lines)⏎Tests doubles, is nobody's test.
    test cart.test.ts#doubles 4-6: test `doubles`
    file src/cart.ts 1-68: `src/cart.ts` (TypeScript, 68 lines): The cart of a customer.⏎Defines State, Line, Size, Cart, twice, later.
    type cart.ts#State 12-12: `export type State = "open" | "paid"`⏎What a cart can be.
    interface cart.ts#Line 14-18: `export interface Line<T extends Item = Item>`⏎Members: item, count, total.
    enum cart.ts#Size 20-23: `export enum Size`⏎Variants: Small, Large.
    class cart.ts#Cart 30-53: `@sealed export abstract class Cart<T extends Item> extends Base`⏎A cart.⏎Fields: items, most, #hidden.
    method cart.ts#Cart.constructor 36-39: `Cart.constructor`: `constructor(items: T[])`
    method cart.ts#Cart.total 42-46: `Cart.total`: `async total(): Promise<Price>`⏎What all of it costs.
    method cart.ts#Cart.close 52-52: `Cart.close`: `abstract close(): void`
    function cart.ts#twice 60-60: `export const twice = async <T,>(value: T): Promise<T>`⏎Twice as much.
    function cart.ts#later 64-66: `function later()`
    file src/item.ts 1-3: `src/item.ts` (TypeScript, 3 lines)⏎Defines Item.
    interface item.ts#Item 1-3: `export interface Item`⏎Members: id.
    file src/price.ts 1-4: `src/price.ts` (TypeScript, 4 lines)⏎Defines Price, priced.
    type price.ts#Price 1-1: `export type Price = number`
    function price.ts#priced 2-4: `export function priced(value: number): Price`
    file src/round.ts 1-3: `src/round.ts` (TypeScript, 3 lines)⏎Defines round.
    function round.ts#round 1-3: `export default function round(value: number): number`
    file src/tax/index.ts 1-1: `src/tax/index.ts` (TypeScript, 1 line)
    file src/tax/rates.ts 1-3: `src/tax/rates.ts` (TypeScript, 3 lines)⏎Defines added.
    function rates.ts#added 1-3: `export function added(value: number): number`
    file src/util.ts 1-1: `src/util.ts` (TypeScript, 1 line)⏎Defines log.
    function util.ts#log 1-1: `export function log(text: string): void`
    "#);
}

#[test]
fn pk_21_typescript_edges_follow_index_files_aliases_and_re_exports() {
    assert_snapshot!(edges(&graph(&files(TYPESCRIPT))), @"
    cart.ts#Cart -contains-> cart.ts#Cart.close
    cart.ts#Cart -contains-> cart.ts#Cart.constructor
    cart.ts#Cart -contains-> cart.ts#Cart.total
    cart.ts#Cart.total -calls-> price.ts#priced
    cart.ts#Cart.total -calls-> util.ts#log
    cart.ts#twice -tested_by-> cart.test.ts#doubles
    src/cart.test.ts -contains-> cart.test.ts#doubles
    src/cart.test.ts -imports-> src/cart.ts
    src/cart.ts -contains-> cart.ts#Cart
    src/cart.ts -contains-> cart.ts#Line
    src/cart.ts -contains-> cart.ts#Size
    src/cart.ts -contains-> cart.ts#State
    src/cart.ts -contains-> cart.ts#later
    src/cart.ts -contains-> cart.ts#twice
    src/cart.ts -imports-> src/item.ts
    src/cart.ts -imports-> src/price.ts
    src/cart.ts -imports-> src/round.ts
    src/cart.ts -imports-> src/tax/index.ts
    src/cart.ts -imports-> src/util.ts
    src/item.ts -contains-> item.ts#Item
    src/price.ts -contains-> price.ts#Price
    src/price.ts -contains-> price.ts#priced
    src/round.ts -contains-> round.ts#round
    src/tax/index.ts -imports-> src/tax/rates.ts
    src/tax/rates.ts -contains-> rates.ts#added
    src/util.ts -contains-> util.ts#log
    ");
}

const REACT: &str = r#"
== web/package.json
{ "name": "web" }
== web/src/Button.tsx
import { label } from "./label";

export interface Props {
  text: string;
}

/** A button. */
export function Button({ text }: Props) {
  return <button>{label(text)}</button>;
}

export default Button;
== web/src/label.jsx
export const label = (text) => <b>{text}</b>;
== web/src/App.jsx
import { Button } from "./Button";

export class App extends React.Component {
  render() {
    return <Button text="a" />;
  }
}
"#;

#[test]
fn pk_21_components_in_tsx_and_jsx_are_functions_and_classes() {
    let extracted = graph(&files(REACT));
    assert_snapshot!(code(&extracted), @"
    file web/src/App.jsx 1-7: `web/src/App.jsx` (JavaScript, 7 lines)⏎Defines App.
    class App.jsx#App 3-7: `export class App extends React.Component`
    method App.jsx#App.render 4-6: `App.render`: `render()`
    file web/src/Button.tsx 1-12: `web/src/Button.tsx` (TypeScript, 12 lines)⏎Defines Props, Button.
    interface Button.tsx#Props 3-5: `export interface Props`⏎Members: text.
    function Button.tsx#Button 8-10: `export function Button({ text }: Props)`⏎A button.
    file web/src/label.jsx 1-1: `web/src/label.jsx` (JavaScript, 1 line)⏎Defines label.
    function label.jsx#label 1-1: `export const label = (text)`
    ");
    assert_snapshot!(edges(&extracted), @"
    App.jsx#App -contains-> App.jsx#App.render
    App.jsx#App.render -calls-> Button.tsx#Button
    Button.tsx#Button -calls-> label.jsx#label
    web/src/App.jsx -contains-> App.jsx#App
    web/src/App.jsx -imports-> web/src/Button.tsx
    web/src/Button.tsx -contains-> Button.tsx#Button
    web/src/Button.tsx -contains-> Button.tsx#Props
    web/src/Button.tsx -imports-> web/src/label.jsx
    web/src/label.jsx -contains-> label.jsx#label
    ");
}
