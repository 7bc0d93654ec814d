import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import type { RoleBook } from "./role.ts";

/** Checks the names of roles that an operator or a token is to get. @throws SvcError `bad_request` with the nearest name */
export function checkRoleNames(book: RoleBook, names: readonly string[]): void {
  for (const name of names) {
    if (book.has(name)) continue;
    const known = [...book.keys()];
    const shown = JSON.stringify(name.slice(0, 64));
    const listed = `${known.slice(0, 20).join(", ")}${known.length > 20 ? ", …" : ""}`;
    throw new SvcError("bad_request", `unknown role ${shown}${suggestion(name, known)}; known are ${listed}`);
  }
}
