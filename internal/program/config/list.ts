import { kindOf } from "../../base/yaml.ts";
import { Complaint, type OptionType } from "./option.ts";
import { quoted, type ReadText, stringOf } from "./scalar.ts";

/**
 * A list of strings. Its flag takes several values separated by commas and may be repeated. An empty flag
 * clears the list of the file.
 *
 * @param read checks one item and returns its normalized form
 */
export function listOf(form: {
  name: string;
  placeholder: string;
  read: ReadText<string>;
}): OptionType<readonly string[]> {
  const readItem = (item: string): string => {
    if (item.trim() === "") throw new Complaint("an item of the list is empty");
    return form.read(item);
  };
  return {
    name: `list of ${form.name}`,
    placeholder: `${form.placeholder},...`,
    fromYaml: (node) => {
      if (node.kind !== "list") {
        throw new Complaint(`expected a list of ${form.name}, found ${kindOf(node)}`, node.at);
      }
      return node.items.map((item) => {
        try {
          return readItem(stringOf(item));
        } catch (thrown) {
          if (thrown instanceof Complaint) throw new Complaint(thrown.message, thrown.at ?? item.at);
          throw thrown;
        }
      });
    },
    fromFlag: (texts) =>
      texts
        .filter((text) => text !== "")
        .flatMap((text) => text.split(",").map((item) => readItem(item.trim()))),
    format: (items) => `[${items.map(quoted).join(", ")}]`,
  };
}
