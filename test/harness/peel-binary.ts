import { writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");

/** How a fake svc-peel binary fails: it exits at once, does not respond, or never connects. */
export type Fault = "crash" | "hang" | "alone";

const faults: Record<Fault, string> = {
  crash: "process.exit(7);",
  hang: "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);",
  alone: `
    const [host, port] = process.argv[process.argv.indexOf("--health-addr") + 1].split(":");
    const down = { status: "down", checks: { bus: { status: "down", message: "not connected" } } };
    Bun.serve({
      hostname: host,
      port: Number(port),
      fetch: ({ url }) =>
        new URL(url).pathname === "/healthz" ? Response.json({ status: "ok" }) : Response.json(down, { status: 503 }),
    });`,
};

/** Compiles the peel of this tree under another version. @param outfile its name may not be that of another */
export async function compilePeel(version: string, outfile: string): Promise<void> {
  const manifest = join(root, "package.json");
  const other = { ...(await Bun.file(manifest).json()), version };
  await compile(join(root, "cmd/svc-peel/main.ts"), outfile, [
    {
      name: "version",
      setup: (build) =>
        void build.onLoad({ filter: /\/package\.json$/ }, ({ path }) =>
          path === manifest ? { contents: JSON.stringify(other), loader: "json" } : undefined,
        ),
    },
  ]);
}

/** Compiles a binary that says that it is a svc-peel of this version, and is broken. */
export async function compileFaultyPeel(fault: Fault, version: string, outfile: string): Promise<void> {
  const source = `${outfile}.ts`;
  writeFileSync(
    source,
    `if (process.argv[2] === "--version") process.stdout.write("svc-peel ${version}\\n");\nelse {${faults[fault]}}\n`,
  );
  await compile(source, outfile, []);
}

async function compile(entry: string, outfile: string, plugins: Bun.BunPlugin[]): Promise<void> {
  const result = await Bun.build({
    entrypoints: [entry],
    target: "bun",
    format: "esm",
    throw: false,
    plugins,
    compile: { executablePath: process.execPath, outfile, autoloadDotenv: false, autoloadBunfig: false },
  });
  if (!result.success) throw new Error(`cannot compile ${outfile}:\n${result.logs.join("\n")}`);
}
