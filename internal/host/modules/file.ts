import { closeSync, constants, type Stats, statSync } from "node:fs";
import { basename } from "node:path";
import { decodeBase64 } from "../../base/base64.ts";
import { isErrno } from "../../base/files/file.ts";
import type { OpenedDirectory } from "../../base/files/opened-directory.ts";
import { type FileAttributes, setOwnerAndMode } from "../../base/files/owner-and-mode.ts";
import { arg, define } from "./define.ts";
import { describeFile, hashFile, listDirectory, maxEntries, maxReadBytes, readPart } from "./file-read.ts";
import { appendLines, copyWhole, makeLink, openParents, removePath, writeWhole } from "./file-write.ts";
import type { CallContext, ModuleFunction } from "./function.ts";
import { modeBits, ownerOf, touching, trimmed } from "./touch.ts";

const path = arg.path("An absolute path.", { required: true });
const user = arg.string("Name or uid of the owner; unchanged by default.");
const group = arg.string("Name or gid of the group; unchanged by default.");
const makedirs = arg.boolean("Creates missing parent directories with mode 0755.");
const mode = arg.mode("Permission bits; by default those of the replaced file, or 0644.");

/** Functions that read and change files on the host. */
export const fileFunctions: readonly ModuleFunction[] = [
  define({
    name: "file.file_exists",
    doc: "Returns whether the path is a regular file, or a symbolic link to one.",
    args: { path },
    run: async (args) => (await statIfPresent(args.path))?.isFile() ?? false,
  }),
  define({
    name: "file.directory_exists",
    doc: "Returns whether the path is a directory, or a symbolic link to one.",
    args: { path },
    run: async (args) => (await statIfPresent(args.path))?.isDirectory() ?? false,
  }),
  define({
    name: "file.read",
    doc: "Reads a regular file or a part of it.",
    args: {
      path,
      offset: arg.integer("Offset of the first byte; 0 by default.", { min: 0 }),
      limit: arg.integer(`Maximum number of bytes to read; ${maxReadBytes} by default.`, {
        min: 4,
        max: maxReadBytes,
      }),
      base64: arg.boolean("Returns the content as base64, for content that is not UTF-8 text."),
    },
    run: ({ path, offset = 0, limit = maxReadBytes, base64 = false }) =>
      touching("read", path, () => readPart(trimmed(path), offset, limit, base64)),
  }),
  define({
    name: "file.write",
    doc: "Writes a file atomically. A symbolic link is replaced, not followed.",
    args: {
      path,
      content: arg.string("The whole content.", { required: true, data: "text" }),
      mode,
      user,
      group,
      makedirs,
      base64: arg.boolean("Decodes the content from base64."),
    },
    refuse: ({ content, base64 }) =>
      base64 && decodeBase64(content) === undefined ? "content: expected base64" : undefined,
    async run(args, context) {
      const wanted = await wantedOf(args, context);
      const data = (args.base64 ? decodeBase64(args.content) : undefined) ?? Buffer.from(args.content);
      const target = trimmed(args.path);
      return touching("write", target, async () => {
        using directory = openParents(target, args.makedirs);
        return { created: await writeWhole(directory, target, data, wanted), bytes: data.length };
      });
    },
  }),
  define({
    name: "file.append",
    doc: "Appends text as lines to a file, and creates the file if it does not exist. Does not follow a symbolic link.",
    args: {
      path,
      text: arg.string("One or more lines; the final line break may be omitted.", {
        required: true,
        data: "text",
      }),
      makedirs,
    },
    run: ({ path, text, makedirs }) =>
      touching("write", path, async () => {
        using directory = openParents(trimmed(path), makedirs);
        return { bytes: await appendLines(directory, trimmed(path), text) };
      }),
  }),
  define({
    name: "file.stats",
    doc: "Returns type, size, mode, owner and timestamps of a file.",
    args: {
      path,
      follow: arg.boolean("Describes the target of a symbolic link; true by default."),
    },
    run: ({ path, follow = true }, { clock, signal }) =>
      touching("read", path, () => describeFile(trimmed(path), follow, { clock, signal })),
  }),
  define({
    name: "file.readdir",
    doc: "Lists the names and types of the entries of a directory.",
    args: {
      path,
      limit: arg.integer("Maximum number of entries, the first by name; 1000 by default.", {
        min: 1,
        max: maxEntries,
      }),
    },
    run: ({ path, limit = 1_000 }) => touching("read", path, () => listDirectory(path, limit)),
  }),
  define({
    name: "file.mkdir",
    doc: "Creates a directory; an existing one gets the owner and mode.",
    args: {
      path,
      mode: arg.mode("Permission bits; 0755 for a new directory by default."),
      user,
      group,
      makedirs,
    },
    async run(args, context) {
      const { owner, mode } = await wantedOf(args, context);
      const target = trimmed(args.path);
      return touching("create", target, () => {
        using directory = openParents(target, args.makedirs);
        const name = basename(target);
        const created = directory.stats(name) === undefined;
        if (created) directory.makeDirectory(name, { ...owner, mode: mode ?? 0o755 });
        else setAttributes(directory, name, constants.O_DIRECTORY, { ...owner, mode });
        return { created };
      });
    },
  }),
  define({
    name: "file.remove",
    doc: "Removes a file, a symbolic link or, with recursive, a directory. Returns true if it existed.",
    args: {
      path,
      recursive: arg.boolean("Removes a directory with its contents."),
    },
    refuse: ({ path }) => (trimmed(path) === "/" ? "path: / is never removed" : undefined),
    run: ({ path, recursive = false }) =>
      touching("remove", path, () => removePath(trimmed(path), recursive)),
  }),
  define({
    name: "file.copy",
    doc: "Copies a regular file atomically, with its permission bits.",
    args: {
      src: arg.path("The file to copy.", { required: true }),
      dst: arg.path("Path of the copy itself, not of a directory to copy into.", { required: true }),
      mode: arg.mode("Permission bits; by default those of the replaced file, or else of the copied file."),
      user,
      group,
      makedirs,
    },
    async run(args, context) {
      const wanted = await wantedOf(args, context);
      const target = trimmed(args.dst);
      return touching(`copy ${args.src} to`, target, async () => {
        using directory = openParents(target, args.makedirs);
        return { bytes: await copyWhole(trimmed(args.src), directory, target, wanted, context.signal) };
      });
    },
  }),
  define({
    name: "file.symlink",
    doc: "Creates a symbolic link. Returns true if it did not exist.",
    args: {
      src: arg.string("Target of the link.", { required: true }),
      path,
      force: arg.boolean("Replaces an existing file or link."),
      makedirs,
    },
    refuse: ({ src }) => (src === "" || src.includes("\0") ? "src: expected a path" : undefined),
    run: ({ src, path, force = false, makedirs }) =>
      touching("create", path, () => {
        using directory = openParents(trimmed(path), makedirs);
        return makeLink(directory, src, trimmed(path), force);
      }),
  }),
  define({
    name: "file.get_hash",
    doc: "Returns the digest of a regular file in hexadecimal.",
    args: {
      path,
      form: arg.string("Digest algorithm; sha256 by default.", {
        values: ["sha256", "sha512", "sha1", "md5"],
      }),
    },
    run: ({ path, form = "sha256" }, { signal }) =>
      touching("read", path, () => hashFile(trimmed(path), form, signal)),
  }),
  define({
    name: "file.set_mode",
    doc: "Sets the permission bits of a file or directory. Does not follow a symbolic link.",
    args: { path, mode: arg.mode("Permission bits.", { required: true }) },
    run: ({ path, mode }) =>
      touching("change", path, () => {
        using directory = openParents(trimmed(path), false);
        const wanted = { uid: undefined, gid: undefined, mode: modeBits(mode) };
        setAttributes(directory, basename(path), 0, wanted);
        return true;
      }),
  }),
  define({
    name: "file.chown",
    doc: "Sets owner and group of a file or directory, or of a symbolic link itself.",
    args: { path, user, group },
    refuse: ({ user, group }) =>
      user === undefined && group === undefined ? "give user, group or both" : undefined,
    async run(args, context) {
      const { uid = -1, gid = -1 } = await ownerOf(args, context);
      return touching("change", args.path, () => {
        using directory = openParents(trimmed(args.path), false);
        directory.changeOwner(basename(args.path), uid, gid);
        return true;
      });
    },
  }),
];

/** Stats of a path; `undefined` when it does not exist, also when a parent is not a directory. */
function statIfPresent(path: string): Promise<Stats | undefined> {
  return touching("access", path, () => {
    try {
      return statSync(path);
    } catch (cause) {
      if (isErrno(cause, "ENOENT") || isErrno(cause, "ENOTDIR")) return undefined;
      throw cause;
    }
  });
}

async function wantedOf(
  args: { user: string | undefined; group: string | undefined; mode: string | undefined },
  context: CallContext,
) {
  const owner = await ownerOf(args, context);
  return { owner, mode: args.mode === undefined ? undefined : modeBits(args.mode) };
}

function setAttributes(
  directory: OpenedDirectory,
  name: string,
  flags: number,
  attributes: FileAttributes,
): void {
  const file = directory.openFile(name, constants.O_RDONLY | flags);
  try {
    setOwnerAndMode(file, attributes);
  } finally {
    closeSync(file);
  }
}
