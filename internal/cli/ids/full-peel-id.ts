import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { peelOperations } from "../../fleet/peels/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { request } from "../request.ts";
import { chooseOne, maxShown } from "./choose.ts";

/**
 * Asks about a peel, whose id may be the beginning of one when no peel has exactly that id. Only for what reads:
 * the name of a host that is gone is the beginning of another.
 *
 * @param read throws `not_found` for a peel that does not exist
 * @throws SvcError `conflict` with the candidates when several begin so, and what `read` throws
 */
export async function readNamedPeel<T>(
  text: string,
  bus: Bus,
  cli: Pick<Cli, "say">,
  read: (peel: string) => Promise<T>,
): Promise<T> {
  try {
    return await read(text);
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.kind !== "not_found") throw thrown;
    const beginning = text.replaceAll("_", ".");
    // It becomes a glob, in which other characters have a meaning.
    if (!/^[A-Za-z0-9][A-Za-z0-9.-]*$/.test(beginning)) throw thrown;
    const { peels } = await request(bus, peelOperations.listPeels, {
      target: `${beginning}*`,
      limit: maxShown + 1,
    });
    // The peel is there, and what was asked about it does not exist.
    if (peels.length === 0 || peels.some(({ id }) => id === beginning)) throw thrown;
    const { id } = chooseOne(
      "peel",
      text,
      peels.map(({ id, alive }) => ({ id, text: alive ? "alive" : "silent" })),
    );
    cli.say(`${text} is ${id}`);
    return read(id);
  }
}
