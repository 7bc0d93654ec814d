import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const directory = join(import.meta.dir, "../../../.tools/peers");

/** The programs of other products that are there for the rows. */
export interface Peers {
  /** The file of a program, if it is there. */
  program(name: string): string | undefined;
  /** For each product: its name and version, and where they come from. */
  versions(): string[];
}

/** What `make bench-peers` could install below .tools. */
export const installedPeers: Peers = {
  program(name) {
    const path = join(directory, "bin", name);
    return existsSync(path) ? path : undefined;
  },
  versions() {
    const products = join(directory, "versions");
    if (!existsSync(products)) return [];
    return readdirSync(products)
      .sort()
      .map((product) => readFileSync(join(products, product), "utf8").trim());
  },
};

/** No products: what is left is what this one does alone. */
export const noPeers: Peers = { program: () => undefined, versions: () => [] };
