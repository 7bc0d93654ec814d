import { expect, test } from "bun:test";
import { createEnvironment, JinjaError } from "./environment.ts";

const environment = createEnvironment({ parseData: (_, text) => text });
const render = (text: string) => environment.render({ name: "t", text: () => text, global: () => undefined });

test("numbers, texts and bytes are Python's", () => {
  const table: [string, string][] = [
    ["42.55|round(1)", "42.5"],
    ["2.5|round", "2.0"],
    ["0.125|round(2)", "0.12"],
    ["(-2.675)|round(2)", "-2.67"],
    ["150|round(-2)", "200"],
    ["250|round(-2)", "200"],
    ["1234.5|round(-2)", "1200.0"],
    ["42.55|round(1, 'floor')", "42.5"],
    ["42.51|round(1, 'ceil')", "42.6"],
    ["'%.0f %.1f %.2e' % (0.5, 0.25, 1.125)", "0 0.2 1.12e+00"],
    ["'%.1f' % 1e22", "10000000000000000000000.0"],
    ["'{:.1f} {:.0%}'.format(0.35, 0.125)", "0.3 12%"],
    ["'0x1f'|int(3)", "3"],
    ["'nan'|float", "nan"],
    ["'é'.encode()", "b'\\xc3\\xa9'"],
    ["'é'.encode('latin-1')", "b'\\xe9'"],
    ["'aé'.encode('ascii', 'replace').decode()", "a?"],
    ["'a b'.encode().split()", "[b'a', b'b']"],
    ["('ab'.encode() + 'c'.encode())[1:].hex()", "6263"],
    ["'ab'.encode()|list", "[97, 98]"],
    ["97 in 'ab'.encode()", "True"],
    ["'hello'.translate(''.maketrans('el', 'ip', 'o'))", "hipp"],
    ["'abc'.translate({97: 'AA', 98: none})", "AAc"],
    ["''.maketrans({'a': 1})", "{97: 1}"],
    [
      "'see www.a.org, (x@b.de) http://c.de/(f).'|urlize(8)",
      'see <a href="https://www.a.org" rel="noopener">www.a.or...</a>, (<a href="mailto:x@b.de">x@b.de</a>) <a href="http://c.de/(f)" rel="noopener">http://c...</a>.',
    ],
  ];
  for (const [expression, text] of table)
    expect([expression, render(`{{ ${expression} }}`)]).toEqual([expression, text]);
  for (const wrong of [
    "'é'.encode('ascii')",
    "'é'.encode('x')",
    "'é'.encode()[:1].decode()",
    "''.maketrans('a', '')",
    "'a'.encode() + 'b'",
  ]) {
    expect(() => render(`{{ ${wrong} }}`)).toThrow(JinjaError);
  }
});
