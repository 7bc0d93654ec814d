import { expect, test } from "bun:test";
import { rewriteMapGet } from "./map-get.ts";

test.each([
  ["{{ a.get('x', 1) }}", "{{ (a['x']|default( 1)) }}"],
  ["{{ a.b['c'].get('x', [1, 2]) }}", "{{ (a.b['c']['x']|default( [1, 2])) }}"],
  ["{{ a.get('x', {}).get('y', 'z') }}", "{{ ((a['x']|default( {}))['y']|default( 'z')) }}"],
  ["{{ a.get(b.get('k', 1), f(2, 3)) }}", "{{ (a[(b['k']|default( 1))]|default( f(2, 3))) }}"],
  ["{{ f(1)[2].get('x', 1) }}", "{{ (f(1)[2]['x']|default( 1)) }}"],
  ["{{ {'a': 1}.get('x', 1) }}", "{{ ({'a': 1}['x']|default( 1)) }}"],
  ["{% if not (a or b).get('x', 1) %}", "{% if not ((a or b)['x']|default( 1)) %}"],
  ["{% for k in [a].get(0, 1) %}", "{% for k in ([a][0]|default( 1)) %}"],
  ["{{ x if a.get('.get(1, 2)', 1) }}", "{{ x if (a['.get(1, 2)']|default( 1)) }}"],
  ["{{\n a.get('x',\n 1)\n}}", "{{\n (a['x']|default(\n 1))\n}}"],
  // Calls with one argument, and text outside of code, are unchanged.
  ["{{ a.get('x') }}{{ s['pillar.get']('x', 1) }} a.get('x', 1)", undefined],
  ["{# a.get('x', 1) #}{% raw %}{{ a.get('x', 1) }}{% endraw %}", undefined],
  ["{{ a.get('x', 1 }}", undefined],
])("%j", (text, expected) => {
  expect(rewriteMapGet(text)).toBe(expected ?? text);
});
