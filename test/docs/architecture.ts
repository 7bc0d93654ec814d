import { house } from "../arch/house.ts";
import { cell } from "./reference.ts";

const begin =
  "<!-- Generated from test/arch/house.ts by `make reference`: change that table, not this one. -->";
const end = "<!-- End of the generated part. -->";

/** The wings and rooms of the house as Markdown. */
function houseReference(): string {
  return house
    .map(({ name, subject, without, rooms }) => {
      const isSmall = rooms.length === 1 && rooms[0]?.path === name;
      const rows = rooms.map((room) => `| ${room.floor} | \`${room.path}\` | ${cell(room.subject)} |`);
      const title = `### ${name === "cmd" ? "cmd" : `internal/${name}`}\n\n${capital(subject)}.${exclusion(without)}`;
      return isSmall ? title : `${title}\n\n| Floor | Room | Subject |\n|---|---|---|\n${rows.join("\n")}`;
    })
    .join("\n\n");
}

/**
 * A page with its generated part as of now.
 *
 * @throws Error when the page has no such part
 */
export function withHouse(page: string): string {
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error("docs/architecture.md has lost the marks of its generated part");
  return `${page.slice(0, from)}${begin}\n\n${houseReference()}\n\n${page.slice(to)}`;
}

function exclusion(without: readonly string[] = []): string {
  return without.map((name) => ` It never imports \`${name}\`.`).join("");
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
