import { createTemplates } from "../../../internal/tree/template/mod.ts";
import { readFlags } from "../flags.ts";
import { milliseconds, ratio, table } from "../table.ts";

// How long templates take that are read for the first time, and again in the same process. The floor writes the
// same texts with the template literals of the runtime: what is asked for, without a language of its own.

const flags = readFlags({ files: ["1000", "10"], rounds: ["5", "1"] });
const files = flags.count("files");
const rounds = flags.count("rounds");

const facts = { os: "Debian", id: "web-1.example.com", ipv4: ["127.0.0.1", "10.0.0.7"], num_cpus: 4 };
const settings = { app: { port: 8080, hosts: ["a.example.com", "b.example.com", "c.example.com"] } };

const map = `{% set defaults = {"port": 80, "user": "www-data"} %}
{% set by_os = salt["grains.filter_by"]({"Debian": {"conf": "/etc/app"}, "default": {"conf": "/usr/app"}}, grain="os") %}
{% do defaults.update(by_os) %}
{% set app = salt["slsutil.merge"](defaults, settings.app) %}
`;
const template = (at: number) => `{% from "map.jinja" import app %}
# file ${at}
{% for host in app.hosts %}
upstream {{ loop.index }}: {{ host }}:{{ app.port }}
{% endfor %}
{% if facts.num_cpus > 2 %}workers: {{ facts.num_cpus * 2 }}{% endif %}
conf: {{ app.conf | default("/etc", true) | upper }}
address: {{ facts.ipv4 | join(", ") }}
`;
const names = Array.from({ length: files }, (_, at) => `conf/${at}.conf`);
const texts = names.map((_, at) => template(at));

const floor = (at: number) =>
  `\n# file ${at}\n${settings.app.hosts.map((host, i) => `\nupstream ${i + 1}: ${host}:${settings.app.port}\n`).join("")}
${facts.num_cpus > 2 ? `workers: ${facts.num_cpus * 2}` : ""}\nconf: ${"/etc/app".toUpperCase()}\naddress: ${facts.ipv4.join(", ")}`;

const scope = { facts, settings };
const renderer = () => createTemplates().renderer(async (path) => (path === "map.jinja" ? map : undefined));

/** Processor milliseconds of one run over all files. */
async function measured(run: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function renderAll({ render }: ReturnType<typeof renderer>): Promise<void> {
  for (const [at, name] of names.entries()) await render({ name, text: texts[at] ?? "" }, scope);
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

const lines: Record<"floor" | "first" | "again", number[]> = { floor: [], first: [], again: [] };
for (let round = 0; round < rounds; round++) {
  lines.floor.push(await measured(() => names.map((_, at) => floor(at))));
  const fresh = renderer();
  lines.first.push(await measured(() => renderAll(fresh)));
  lines.again.push(await measured(() => renderAll(fresh)));
}
const [min, first, again] = [median(lines.floor), median(lines.first), median(lines.again)];
const row = (name: string, spent: number) => [
  name,
  milliseconds(spent),
  milliseconds((spent / files) * 1000),
  ratio(spent / min),
];
const shown = table(
  ["Line", "Processor ms", "us each", "Of the floor"],
  [
    row("floor: template literals", min),
    row("rendered for the first time", first),
    row("rendered again", again),
  ],
);
process.stdout.write(
  [
    `${files} templates that import a map, loop and filter; medians of ${rounds} rounds`,
    shown,
    `resident memory at the end: ${(process.memoryUsage().rss / 1024 ** 2).toFixed(0)} MiB\n`,
  ].join("\n\n"),
);
