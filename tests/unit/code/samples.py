"""One small program a language, laid out in two ways that say the same, and with one change for each part of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """``same`` says what ``code`` says. ``changes`` are replacements in ``code``, each of which changes ``symbol``."""

    language: str
    symbol: str
    code: str
    same: str
    changes: tuple[tuple[str, str], ...]
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.language


SAMPLES = [
    Sample(
        "python",
        "Cart.total",
        '''
LIMIT = 3


class Cart(Basket):
    @cached
    def total(self, rate=1.5):
        """What the customer pays."""
        if self.rows and rate > 1:
            return sum([row.price, rate]) + LIMIT
        return "none"
''',
        """
import decimal
LIMIT = 3
class Cart(Basket):
    # money
    @cached
    def total(
        self,
        rate=1.5,
    ):
        '''Another description.'''

        if (self.rows
                and rate > 1):  # taxed
            return sum(
                [
                    row.price,
                    rate,
                ],
            ) + LIMIT
        return 'none'
""",
        (
            ("1.5", "1.6"),
            ("rate > 1", "rate >= 1"),
            ("sum(", "max("),
            ("self, rate", "self, price, rate"),
            ("@cached", "@lru"),
            ('"none"', '"nothing"'),
            ("row.price", "row.cost"),
            (
                ' and rate > 1:\n            return sum([row.price, rate]) + LIMIT\n        return "none"',
                ' and rate > 1:\n            return sum([row.price, rate]) + LIMIT\n            return "none"',
            ),
        ),
        ("LIMIT", "Cart", "Cart.total"),
    ),
    Sample(
        "javascript",
        "Cart.total",
        """
const LIMIT = 3;
export class Cart extends Basket {
  total(rate = 1.5) {
    if (this.rows && rate > 1) { return sum([this.price, rate]) + LIMIT; }
    return `none ${rate} left`;
  }
}
export const double = (value) => value * 2;
""",
        """
const LIMIT = 3
/* shop */
export class Cart extends Basket {
    // what the customer pays
    total(
        rate = 1.5,
    ) {
        if (this.rows && rate > 1) {
            return sum([
                this.price,
                rate,
            ]) + LIMIT
        }
        return `none ${rate} left`
    }
}
export const double = (value) => value * 2
""",
        (
            ("1.5", "1.6"),
            ("&&", "||"),
            ("sum(", "max("),
            ("total(rate", "total(price, rate"),
            ("none $", "no $"),
            ("rows", "lines"),
        ),
        ("LIMIT", "Cart", "Cart.total", "double"),
    ),
    Sample(
        "typescript",
        "Cart.total",
        """
interface Priced { price: number }
type Rate = number;
export class Cart<T extends Priced> {
  @cached
  private total(rate: Rate = 1.5): number {
    return this.rows.map((row: T) => row.price * rate).length;
  }
}
""",
        """
interface Priced { price: number }
type Rate = number;
export class Cart<T extends Priced> {

      @cached // once
      private total(
          rate: Rate = 1.5,
      ): number {
          return this.rows.map(
              (row: T) => row.price * rate,
          ).length
      }
}
""",
        (
            ("rate: Rate", "rate: number"),
            ("private", "public"),
            ("): number", "): string"),
            ("@cached", "@once"),
            ("* rate", "/ rate"),
        ),
        ("Priced", "Rate", "Cart", "Cart.total"),
    ),
    Sample(
        "tsx",
        "Badge",
        """
export function Badge({ label }: Props) {
  return <span className="badge">Hello {label}</span>;
}
""",
        """
export function Badge({ label }: Props) {
  return <span
      className="badge"
  >
      Hello {label}
  </span>
}
""",
        (('"badge"', '"chip"'), ("Hello", "Welcome"), ("<span className", "<b className"), ("{label}<", "{title}<")),
        ("Badge",),
    ),
    Sample(
        "go",
        "Cart.Total",
        """
package shop

const Limit = 3

type Cart struct { rows []Row }

func (c *Cart) Total(rate float64) (int, error) {
	if len(c.rows) > 0 && rate > 1.5 { return sum(c.rows, rate) + Limit, nil }
	return 0, errors.New("none")
}
""",
        """
package shop

const Limit = 3

type Cart struct { rows []Row }

// Total is what the customer pays.
func (c *Cart) Total(rate float64) (int, error) {
	if len(c.rows) > 0 && rate > 1.5 {
		return sum(
			c.rows,
			rate,
		) + Limit, nil
	}

	return 0, errors.New("none")
}
""",
        (
            ("1.5", "1.6"),
            ("&&", "||"),
            ("sum(", "max("),
            ("c *Cart", "c Cart"),
            ('"none"', '"empty"'),
            ("(int, error)", "(int64, error)"),
        ),
        ("Limit", "Cart", "Cart.Total"),
    ),
    Sample(
        "rust",
        "Cart.total",
        """
const LIMIT: u32 = 3;
struct Cart { rows: Vec<Row> }
impl Cart {
    #[inline]
    pub fn total(&self, rate: f64) -> u32 { sum(&[self.price(), rate]) + LIMIT }
}
""",
        """
const LIMIT: u32 = 3;
struct Cart { rows: Vec<Row> }
impl Cart {
    /// What the customer pays.
    #[inline]
    pub fn total(
        &self,
        rate: f64,
    ) -> u32 {
        // in cents
        sum(&[self.price(), rate,]) + LIMIT
    }
}
""",
        (
            ("#[inline]", "#[inline(always)]"),
            ("pub fn", "fn"),
            ("sum(", "max("),
            ("rate: f64", "rate: f32"),
            ("+ LIMIT", "- LIMIT"),
        ),
        ("LIMIT", "Cart", "Cart.total"),
    ),
    Sample(
        "java",
        "Cart.total",
        """
package shop;
class Cart extends Basket {
  static final int LIMIT = 3;
  @Override public int total(double rate) { return sum(price(), rate) + LIMIT; }
}
""",
        """
package shop;
import java.util.List;
class Cart extends Basket {
  static final int LIMIT = 3;
  /** What the customer pays. */
  @Override
  public int total(double rate)
  {
      return sum(price(),
          rate) + LIMIT; // cents
  }
}
""",
        (
            ("@Override ", ""),
            ("public int", "protected int"),
            ("sum(", "max("),
            ("double rate", "float rate"),
            ("+ LIMIT", "* LIMIT"),
        ),
        ("Cart", "Cart.LIMIT", "Cart.total"),
    ),
    Sample(
        "kotlin",
        "Cart.total",
        """
const val LIMIT = 3
class Cart(val rows: List<Row>) : Basket() {
    @Cached
    fun total(rate: Double = 1.5): Int { return sum(listOf(price, rate)) + LIMIT }
    val label = "none $LIMIT left"
}
""",
        """
const val LIMIT = 3
class Cart(val rows: List<Row>) : Basket() {
    /* What the customer pays. */
    @Cached
    fun total(
        rate: Double = 1.5,
    ): Int {
        return sum(listOf(price, rate)) + LIMIT // cents
    }
    val label = "none $LIMIT left"
}
""",
        (("1.5", "1.6"), ("@Cached\n", "\n"), ("sum(", "max("), ("): Int", "): Long"), ("+ LIMIT", "- LIMIT")),
        ("LIMIT", "Cart", "Cart.total", "Cart.label"),
    ),
    Sample(
        "swift",
        "Cart.total",
        """
let limit = 3
class Cart: Basket {
    @discardableResult
    func total(at rate: Double = 1.5) -> Int { return sum([price, rate]) + limit }
}
""",
        """
let limit = 3
class Cart: Basket {
    /// What the customer pays.
    @discardableResult
    func total(at rate: Double = 1.5) -> Int {
        return sum([
            price,
            rate,
        ]) + limit
    }
}
""",
        (("1.5", "1.6"), ("sum(", "max("), ("at rate", "by rate"), ("-> Int", "-> Int64"), ("+ limit", "- limit")),
        ("limit", "Cart", "Cart.total"),
    ),
    Sample(
        "c",
        "total",
        """
#define LIMIT 3
static int count = 1;
struct cart { int rows; };
int *total(struct cart *c, double rate) { return c->rows ? sum(c->rows, rate) + LIMIT : 0; }
""",
        """
#define LIMIT 3
static int count = 1;
struct cart { int rows; };
/* what the customer pays */
int *total(struct cart *c,
           double rate)
{
    return c->rows
        ? sum(c->rows, rate) + LIMIT // cents
        : 0;
}
""",
        (
            ("sum(", "max("),
            ("double rate", "float rate"),
            (": 0", ": 1"),
            ("int *total", "long *total"),
            ("+ LIMIT", "- LIMIT"),
        ),
        ("LIMIT", "count", "cart", "total"),
    ),
    Sample(
        "cpp",
        "shop.Cart.total",
        """
namespace shop {
template <typename T> class Cart : public Basket {
 public:
  int total(double rate = 1.5) const { return sum({price, rate}) + LIMIT; }
  static const int LIMIT = 3;
};
}
""",
        """
namespace shop {
template <typename T> class Cart : public Basket {
 public:
  // what the customer pays
  int total(double rate = 1.5) const
  {
      return sum({
          price,
          rate,
      }) + LIMIT;
  }
  static const int LIMIT = 3;
};
}
""",
        (("1.5", "1.6"), ("sum(", "max("), (") const", ")"), ("double rate", "float rate"), ("+ LIMIT", "- LIMIT")),
        ("shop.Cart", "shop.Cart.total", "shop.Cart.LIMIT"),
    ),
    Sample(
        "csharp",
        "Cart.Total",
        """
namespace Shop;
public class Cart : Basket {
  const int Limit = 3;
  [Cached] public int Total(double rate = 1.5) { return Sum(new[] { Price, rate }) + Limit; }
  public string Label { get; set; } = "none";
}
""",
        """
namespace Shop;
public class Cart : Basket {
  const int Limit = 3;
  /// <summary>What the customer pays.</summary>
  [Cached]
  public int Total(double rate = 1.5)
  {
      return Sum(new[]
      {
          Price,
          rate,
      }) + Limit;
  }
  public string Label { get; set; } = "none";
}
""",
        (("1.5", "1.6"), ("[Cached] ", ""), ("Sum(", "Max("), ("public int", "internal int"), ("+ Limit", "- Limit")),
        ("Cart", "Cart.Limit", "Cart.Total", "Cart.Label"),
    ),
    Sample(
        "ruby",
        "Shop.Cart.total",
        """
module Shop
  LIMIT = 3
  class Cart < Basket
    def total(rate = 1.5)
      return "none #{rate} left" if rows.empty? && rate > 1
      sum([price, rate]) + LIMIT
    end
  end
end
""",
        """
module Shop
  LIMIT = 3
  class Cart < Basket
    # What the customer pays.
    def total(rate = 1.5)
        return "none #{rate} left" if rows.empty? && rate > 1

        sum([
            price,
            rate,
        ]) + LIMIT
    end
  end
end
""",
        (("1.5", "1.6"), ("&&", "||"), ("sum(", "max("), ("none #", "no #"), ("+ LIMIT", "- LIMIT")),
        ("Shop", "Shop.LIMIT", "Shop.Cart", "Shop.Cart.total"),
    ),
    Sample(
        "php",
        "Cart.total",
        """<?php
namespace Shop;
const LIMIT = 3;
class Cart extends Basket {
  private $rows = [];
  #[Cached] public function total(float $rate = 1.5): int { return sum([$this->price, $rate]) + LIMIT; }
}
""",
        """<?php
namespace Shop;
const LIMIT = 3;
class Cart extends Basket {
  private $rows = [];
  /** What the customer pays. */
  #[Cached]
  public function total(
      float $rate = 1.5,
  ): int {
      return sum([
          $this->price,
          $rate,
      ]) + LIMIT;
  }
}
""",
        (("1.5", "1.6"), ("#[Cached] ", ""), ("sum(", "max("), ("): int", "): float"), ("+ LIMIT", "- LIMIT")),
        ("LIMIT", "Cart", "Cart.rows", "Cart.total"),
    ),
    Sample(
        "scala",
        "Cart.total",
        """
object Cart { val Limit = 3 }
class Cart(rows: List[Row]) extends Basket {
  @cached def total(rate: Double = 1.5): Int = { sum(List(price, rate)) + Limit }
}
""",
        """
object Cart { val Limit = 3 }
class Cart(rows: List[Row]) extends Basket {
  /** What the customer pays. */
  @cached
  def total(
      rate: Double = 1.5
  ): Int = {
      sum(List(price, rate)) + Limit // cents
  }
}
""",
        (("1.5", "1.6"), ("@cached ", ""), ("sum(", "max("), ("): Int", "): Long"), ("+ Limit", "- Limit")),
        ("Cart", "Cart.Limit", "Cart.total"),
    ),
    Sample(
        "lua",
        "Cart.total",
        """
local LIMIT = 3
local Cart = {}
function Cart:total(rate)
  if #self.rows > 0 and rate > 1.5 then return sum({price, rate}) + LIMIT end
  return "none"
end
""",
        """
local LIMIT = 3
local Cart = {}
-- What the customer pays.
function Cart:total(rate)
    if #self.rows > 0 and rate > 1.5 then
        return sum({
            price,
            rate,
        }) + LIMIT
    end

    return "none"
end
""",
        (("1.5", "1.6"), (" and ", " or "), ("sum(", "max("), ('"none"', '"empty"'), ("+ LIMIT", "- LIMIT")),
        ("LIMIT", "Cart", "Cart.total"),
    ),
    Sample(
        "elixir",
        "Shop.Cart.total",
        """
defmodule Shop.Cart do
  def total([], _rate), do: 0
  def total(rows, rate) when rate > 1 do
    Enum.sum([rows, rate]) + 3
  end
end
""",
        """
defmodule Shop.Cart do
  @moduledoc "A shop."
  @doc "What the customer pays."
  def total([], _rate), do: 0

  # more
  def total(rows, rate) when rate > 1 do
    Enum.sum([
      rows,
      rate
    ]) + 3
  end
end
""",
        (("rate > 1", "rate > 2"), ("Enum.sum", "Enum.max"), ("do: 0", "do: 1"), ("+ 3", "- 3")),
        ("Shop.Cart", "Shop.Cart.total"),
    ),
    Sample(
        "bash",
        "total",
        """
LIMIT=3
total() { if [ "$1" -gt 1 ]; then echo "$(sum "$1" "$2") $LIMIT"; fi; }
""",
        """
LIMIT=3
# What the customer pays.
total() {
    if [ "$1" -gt 1 ]; then
        echo "$(sum "$1" "$2") $LIMIT"
    fi
}
""",
        (
            ("-gt 1", "-gt 2"),
            ("sum ", "max "),
            ("echo", "printf"),
            (" $LIMIT", " $LEAST"),
            ("fi; }", "else exit 1; fi; }"),
        ),
        ("LIMIT", "total"),
    ),
]
