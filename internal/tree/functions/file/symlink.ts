import { basename } from "node:path";
import { shownText } from "../../../base/files/byte-text.ts";
import { temporaryName } from "../../../base/files/file.ts";
import { openParent } from "../../../base/files/opened-directory.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { arg } from "../../../host/modules/mod.ts";
import { defineState, StateFailure } from "../../function/mod.ts";
import {
  attributeChanges,
  attributesDiffer,
  attributesOf,
  missingNote,
  ownerArgs,
  requireOwner,
  setLinkOwner,
} from "./attributes.ts";
import { kindOf, statIfPresent, targetOf, touching } from "./inspect.ts";
import { makedirsArg, openParents } from "./parents.ts";
import { pathOf } from "./path.ts";

export const fileSymlink = defineState({
  name: "file.symlink",
  doc: "Ensures that a path is a symbolic link to this target.",
  args: {
    target: arg.string("Target of the link; it need not exist.", { required: true }),
    force: arg.boolean("Replaces an existing file."),
    ...ownerArgs,
    makedirs: makedirsArg,
  },
  refuse: ({ target }) => (target === "" || target.includes("\0") ? "target: expected a path" : undefined),
  async plan(name, args, context) {
    const path = pathOf(name);
    const { target } = args;
    const attributes = await attributesOf({ user: args.user, group: args.group }, context);
    const before = statIfPresent(path);
    const link = before?.isSymbolicLink() === true ? before : undefined;
    const same = link !== undefined && touching("read", path, () => targetOf(path)) === target;
    if (same && !attributesDiffer(link, attributes)) {
      return { changes: {}, comment: `The link ${path} is in the desired state` };
    }
    if (before !== undefined && link === undefined) {
      if (before.isDirectory())
        throw new StateFailure(`${path} is a directory and is not replaced by a link`);
      if (args.force !== true) {
        throw new StateFailure(
          `${path} is a ${kindOf(path, before)}; set force: true to replace it with the link`,
        );
      }
    }
    const changes: { [name: string]: Plain } = {};
    if (before === undefined) changes.created = true;
    else if (link === undefined) changes.type = { old: kindOf(path, before), new: "symbolic link" };
    if (!same) changes.target = link === undefined ? target : { old: shownText(targetOf(path)), new: target };
    Object.assign(changes, await attributeChanges(link, attributes, context));
    return {
      changes: { [path]: changes },
      comment: `The link ${path} would point to ${target}${missingNote(attributes)}`,
      apply: async () => {
        requireOwner(attributes);
        const name = basename(path);
        if (same) {
          using directory = touching("change owner of", path, () => openParent(path));
          setLinkOwner(directory, name, attributes);
        } else {
          using directory = openParents(path, args.makedirs, { ...attributes, mode: undefined });
          const temporary = temporaryName(name);
          try {
            touching("create", path, () => directory.link(temporary, target));
            const owner = { uid: attributes.uid ?? link?.uid, gid: attributes.gid ?? link?.gid };
            setLinkOwner(directory, temporary, owner);
            touching("create", path, () => directory.move(temporary, directory, name));
          } catch (cause) {
            directory.remove(temporary);
            throw cause;
          }
        }
        return { comment: `The link ${path} now points to ${target}` };
      },
    };
  },
});
