"""Symbols are addressed by qualified name; a short one means all that end in it."""

import pytest

from memories.code.symbols import Source

TWO_CLASSES = """
def run(): pass
class A:
    def run(self):
        def inner(): pass
    def stop(self): pass
class B:
    def run(self): pass
"""


@pytest.mark.behaviour("H30")
def test_a_short_name_means_every_symbol_that_ends_in_it():
    source = Source(TWO_CLASSES, "python")
    assert source.called("stop") == ["A.stop"]
    assert source.called("A.run") == ["A.run"]
    assert source.called("inner") == ["A.run.inner"]
    assert source.called("run") == ["run"]
    assert Source(TWO_CLASSES.replace("def run(): pass\n", "", 1), "python").called("run") == ["A.run", "B.run"]
    assert source.called("nothing") == source.called("") == []


@pytest.mark.behaviour("H30")
def test_overloads_are_one_symbol():
    code = "class A { int f(int a) { return 1; } int f(long a) { return 2; } int g() { return 3; } }"
    before = Source(code, "java").symbol("A.f").fingerprints
    assert Source(code.replace("return 2", "return 4"), "java").symbol("A.f").fingerprints != before
    assert Source(code.replace("return 3", "return 4"), "java").symbol("A.f").fingerprints == before


@pytest.mark.parametrize(
    ("language", "code", "names"),
    [
        ("python", "a = b = 1\nc, d = 1, 2\ndef f():\n    local = 1\n", ["a", "b", "c", "d", "f"]),
        ("python", "if X:\n    def f(): pass\nelse:\n    def f(): return 1\n", ["f"]),
        (
            "javascript",
            "exports.parse = 1;\nA.prototype.next = function () { let local = 1 };",
            ["exports.parse", "A.next"],
        ),
        ("javascript", "const api = { get() { const local = 1 } };", ["api", "api.get"]),
        ("typescript", "namespace N { export function f(): void; }", ["N", "N.f"]),
        (
            "go",
            "package a\nfunc (l *List[T]) Len() int { return 1 }\nfunc f() { const local = 1 }\n",
            ["List.Len", "f"],
        ),
        ("rust", "impl<T> Show for Box<T> { fn show(&self) {} }\nmod m { fn g() {} }\n", ["Box.show", "m", "m.g"]),
        ("cpp", "int n::Cart::total() { return 1; }\nint Box<T>::open() { return 1; }", ["n.Cart.total", "Box.open"]),
        ("c", "int (*handler)(int);\nint *table[3];\nint proto(int a);\n", ["handler", "table", "proto"]),
        ("elixir", "defmodule A do\n  defp f(x) when x > 1, do: x\n  def g, do: 1\nend\n", ["A", "A.f", "A.g"]),
        ("kotlin", "object Single {\n    fun f() = 1\n}\n", ["Single", "Single.f"]),
        ("ruby", "class A::B\n  def self.make; end\nend\n", ["A.B", "A.B.make"]),
    ],
)
def test_what_is_defined_where(language, code, names):
    assert Source(code, language).names() == names


def test_constants_that_count_up_are_their_whole_group():
    code = "package a\nconst (\n\tA = iota\n\tB\n)\n"
    assert Source(code, "go").symbol("B").text.startswith("const (")


def test_the_text_of_a_symbol_keeps_its_margin_and_says_where_it_begins():
    symbol = Source(TWO_CLASSES, "python").symbol("A.stop")
    assert symbol.text == "    def stop(self): pass"
    assert symbol.line == 6


def test_decorators_and_the_export_belong_to_what_follows_them():
    assert Source("@a\n@b\ndef f(): pass\n", "python").symbol("f").text.startswith("@a")
    assert Source("export default function f() {}\n", "javascript").symbol("f").text.startswith("export")
    assert Source("#[a]\n// why\n#[b]\nfn f() {}\n", "rust").symbol("f").text.startswith("#[a]")
