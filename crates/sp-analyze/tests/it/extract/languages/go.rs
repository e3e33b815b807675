//! Go.

use super::*;

const GO: &str = r#"
== go.mod
module example.com/acme/shop

go 1.23
== main.go
// Command shop sells.
package main

import (
	"fmt"

	"example.com/acme/shop/internal/cart"
	st "example.com/acme/shop/store"
)

func main() {
	c := cart.New(3)
	c.Add("a")
	fmt.Println(st.Open("x"))
}
== internal/cart/cart.go
// Package cart holds what is bought.
package cart

import "errors"

// ErrFull says that nothing more fits.
var ErrFull = errors.New("full")

// Cart is what somebody buys.
type Cart[T any] struct {
	Items []T
	most  int
}

// Pricer knows prices.
type Pricer interface {
	Price(name string) (int, error)
	unseen()
}

type (
	// ID names a cart.
	ID string
	private int
)

// New makes a cart.
func New(most int) *Cart[string] {
	return &Cart[string]{most: most}
}

// Add puts something in.
func (c *Cart[T]) Add(item T) error {
	if c.full() {
		return ErrFull
	}
	return check()
}

func (c *Cart[T]) full() bool { return len(c.Items) >= c.most }
== internal/cart/check.go
package cart

func check() error {
	return nil
}
== store/store.go
package store

//go:generate stringer
func Open(path string) error { return open(path) }

func open(path string) error { return nil }
== internal/cart/cart_test.go
package cart

import "testing"

func TestAdd(t *testing.T) {
	c := New(1)
	if err := c.Add("a"); err != nil {
		t.Fatal(err)
	}
}

func TestNothing(t *testing.T) {}
"#;

#[test]
fn pk_21_go_symbols_are_exported_or_documented() {
    assert_snapshot!(code(&graph(&files(GO))), @"
    file internal/cart/cart.go 1-40: `internal/cart/cart.go` (Go, 40 lines): Package cart holds what is bought.⏎Defines Cart, Pricer, ID, New.
    struct cart.go#Cart 10-13: `type Cart[T any] struct`⏎Cart is what somebody buys.⏎Fields: Items, most.
    interface cart.go#Pricer 16-19: `type Pricer interface`⏎Pricer knows prices.⏎Members: Price, unseen.
    type cart.go#ID 23-23: `ID string`⏎ID names a cart.
    function cart.go#New 28-30: `func New(most int) *Cart[string]`⏎New makes a cart.
    method cart.go#Cart.Add 33-38: `Cart.Add`: `func (c *Cart[T]) Add(item T) error`⏎Add puts something in.
    file internal/cart/cart_test.go 1-12: `internal/cart/cart_test.go` (Go, 12 lines)⏎Tests TestAdd, TestNothing.
    test cart_test.go#TestAdd 5-10: test `TestAdd`
    file internal/cart/check.go 1-5: `internal/cart/check.go` (Go, 5 lines)
    function check.go#check 3-5: `func check() error`
    file main.go 1-15: `main.go` (Go, 15 lines): Command shop sells.
    file store/store.go 1-6: `store/store.go` (Go, 6 lines)⏎Defines Open.
    function store.go#Open 4-4: `func Open(path string) error`
    ");
}

#[test]
fn pk_21_go_edges_follow_packages_and_their_aliases() {
    assert_snapshot!(edges(&graph(&files(GO))), @"
    cart.go#Cart -contains-> cart.go#Cart.Add
    cart.go#Cart.Add -calls-> check.go#check
    cart.go#New -tested_by-> cart_test.go#TestAdd
    internal/cart/cart.go -contains-> cart.go#Cart
    internal/cart/cart.go -contains-> cart.go#ID
    internal/cart/cart.go -contains-> cart.go#New
    internal/cart/cart.go -contains-> cart.go#Pricer
    internal/cart/cart_test.go -contains-> cart_test.go#TestAdd
    internal/cart/check.go -contains-> check.go#check
    main.go -imports-> internal/cart/cart.go
    main.go -imports-> store/store.go
    store/store.go -contains-> store.go#Open
    ");
}
