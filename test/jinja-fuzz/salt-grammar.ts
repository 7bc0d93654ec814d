import fc from "fast-check";
import { joined, pick, template, value } from "./grammar.ts";

// Templates with Salt's filters and tags.

const filters = [
  ...[
    "to_bool",
    "to_num",
    "md5",
    "sha1",
    "sha256",
    "sha512",
    "base64_encode",
    "base64_decode",
    "hmac_compute('k')",
  ],
  ...[
    "yaml_encode",
    "yaml_dquote",
    "yaml_squote",
    "quote",
    "json",
    "json(indent=2)",
    "json(sort_keys=false)",
    "yaml",
    "yaml(false)",
  ],
  ...[
    "python",
    "regex_replace('(l+)', '<\\\\1>')",
    "regex_match('H(.*)')",
    "regex_search('(o)')",
    "regex_escape",
    "is_hex",
  ],
  ...[
    "contains_whitespace",
    "to_snake_case",
    "to_camelcase",
    "to_camelcase(uppercamel=true)",
    "human_to_bytes",
    "path_join('x')",
  ],
  ...[
    "unique",
    "union([1, 9])",
    "intersect([1, 2])",
    "difference([1])",
    "symmetric_difference([1, 9])",
    "avg",
    "flatten",
    "flatten(levels=1)",
  ],
  ...[
    "is_list",
    "is_iter",
    "is_ip",
    "ipaddr",
    "traverse('c:x')",
    "traverse('c:q', 'none')",
    "substring_in_list(['abc', s])",
  ],
  ...[
    "exactly_n_true(1)",
    "exactly_one_true",
    "compare_dicts({'a': 1})",
    "compare_lists([1])",
    "tojson",
    "tojson(indent=2)",
  ],
  ...[
    "to_bytes",
    "load_yaml",
    "load_json",
    "dict_to_sls_yaml_params",
    "check_whitelist_blacklist(['*'])",
    "is_sorted",
    "mysql_to_dict('x')",
  ],
];
const atoms = [
  ...["s", "u", "csv", "path", "n", "f", "l", "ll", "m", "w", "d", "ds", "t", "no", "e"],
  ...[
    "'yes'",
    "'10.0.0.1'",
    "'1.5k'",
    "'0xff'",
    "'a: 1'",
    "'[1, 2]'",
    "'1e3'",
    "'0644'",
    "'a#b'",
    "'- x'",
    "'it''s'",
    "[1, [2, [3]]]",
  ],
  ...[
    "{'a': 1, 'b': [1, 2]}",
    "{'x': {'y': none}}",
    "'a\\nb'",
    "1.0",
    "1e22",
    "['a b', 'c: d', '']",
    "'HelloWorld'",
    "'hello_world'",
    "(1, 'x')",
  ],
];
const tags = [
  "{% load_yaml as c %}\na: 1\nb: [x, {{ n }}]\n{% endload %}{{ c }}",
  '{% load_json as c %}{"a": [1, 2.0, null]}{% endload %}{{ c }}',
  "{% load_text as c %}\n {{ s }}\n{% endload %}[{{ c }}]",
  "{% import_yaml 'data.yaml' as c %}{{ c }}",
  "{% import_json 'data.json' as c %}{{ c }}",
  "{% import_text 'data.yaml' as c %}[{{ c }}]",
];

export const saltTemplate: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: joined("{{ ", pick(...atoms), "|", pick(...filters), " }}"), weight: 4 },
  { arbitrary: joined("{{ (", value, ")|", pick(...filters), " }}"), weight: 3 },
  {
    arbitrary: joined("{{ ", pick(...atoms), "|", pick(...filters), "|", pick(...filters), " }}"),
    weight: 3,
  },
  {
    arbitrary: joined("{{ ", pick(...atoms), " is ", pick("match('H.*')", "in [1]", "list"), " }}"),
    weight: 1,
  },
  { arbitrary: pick(...tags), weight: 1 },
  { arbitrary: template, weight: 1 },
);
