import {
  closeSync,
  constants,
  fchmodSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  type Stats,
  statSync,
} from "node:fs";
import { decodeBase64 } from "../../base/base64.ts";
import { isErrno } from "../../base/file.ts";
import { define } from "./define.ts";
import { describeFile, hashFile, listDirectory, maxEntries, maxReadBytes, readPart } from "./file-read.ts";
import { appendLines, copyWhole, makeLink, makeParents, removePath, writeWhole } from "./file-write.ts";
import type { ArgSpec, CallContext, ModuleFunction } from "./function.ts";
import { modeBits, ownerOf, setOwnerAndMode, touching, trimmed } from "./touch.ts";

const path = { type: "path", required: true, doc: "An absolute path." } as const satisfies ArgSpec;
const user = { type: "string", doc: "Name or uid of the owner; stays as it is by default." } as const;
const group = { type: "string", doc: "Name or gid of the group; stays as it is by default." } as const;
const makedirs = { type: "boolean", doc: "Makes missing parent directories, with mode 0755." } as const;
const mode = {
  type: "mode",
  doc: "Permission bits; those of the file that is replaced by default, or 0644.",
} as const;

/** Functions that read and change files of the host. */
export const fileFunctions: readonly ModuleFunction[] = [
  define({
    name: "file.file_exists",
    doc: "Tells whether there is a regular file of this name, a symbolic link to one included.",
    args: { path },
    run: async (args) => (await statIfPresent(args.path))?.isFile() ?? false,
  }),
  define({
    name: "file.directory_exists",
    doc: "Tells whether there is a directory of this name, a symbolic link to one included.",
    args: { path },
    run: async (args) => (await statIfPresent(args.path))?.isDirectory() ?? false,
  }),
  define({
    name: "file.read",
    doc: "Reads a regular file, or a part of it.",
    args: {
      path,
      offset: { type: "integer", min: 0, doc: "First byte to read; 0 by default." },
      limit: {
        type: "integer",
        min: 4,
        max: maxReadBytes,
        doc: `Bytes to read at most; ${maxReadBytes} by default.`,
      },
      base64: { type: "boolean", doc: "Gives the content as base64, for what is not UTF-8 text." },
    },
    run: ({ path, offset = 0, limit = maxReadBytes, base64 = false }) =>
      touching("read", path, () => readPart(trimmed(path), offset, limit, base64)),
  }),
  define({
    name: "file.write",
    doc: "Writes a file whole or not at all; a symbolic link is replaced, not followed.",
    args: {
      path,
      content: { type: "string", required: true, doc: "The whole content." },
      mode,
      user,
      group,
      makedirs,
      base64: { type: "boolean", doc: "Takes the content as base64." },
    },
    refuse: ({ content, base64 }) =>
      base64 && decodeBase64(content) === undefined ? "content: expected base64" : undefined,
    async run(args, context) {
      const wanted = await wantedOf(args, context);
      const data = (args.base64 ? decodeBase64(args.content) : undefined) ?? Buffer.from(args.content);
      const target = trimmed(args.path);
      return touching("write", target, async () => {
        makeParents(target, args.makedirs);
        return { created: await writeWhole(target, data, wanted), bytes: data.length };
      });
    },
  }),
  define({
    name: "file.append",
    doc: "Adds text as lines to the end of a file, and makes the file if there is none; follows no symbolic link.",
    args: {
      path,
      text: { type: "string", required: true, doc: "One or more lines; the last line end may be left out." },
      makedirs,
    },
    run: ({ path, text, makedirs }) =>
      touching("write", path, async () => {
        makeParents(trimmed(path), makedirs);
        return { bytes: await appendLines(trimmed(path), text) };
      }),
  }),
  define({
    name: "file.stats",
    doc: "Gives type, size, mode, owner and times of a file.",
    args: {
      path,
      follow: { type: "boolean", doc: "Describes what a symbolic link points to; true by default." },
    },
    run: ({ path, follow = true }, { clock, signal }) =>
      touching("read", path, () => describeFile(trimmed(path), follow, { clock, signal })),
  }),
  define({
    name: "file.readdir",
    doc: "Lists names and types of what is in a directory.",
    args: {
      path,
      limit: {
        type: "integer",
        min: 1,
        max: maxEntries,
        doc: "Entries to give at most, the first by name; 1000 by default.",
      },
    },
    run: ({ path, limit = 1_000 }) => touching("read", path, () => listDirectory(path, limit)),
  }),
  define({
    name: "file.mkdir",
    doc: "Makes a directory; one that is there gets the owner and mode.",
    args: {
      path,
      mode: { type: "mode", doc: "Permission bits; 0755 for a new directory by default." },
      user,
      group,
      makedirs,
    },
    async run(args, context) {
      const { owner, mode } = await wantedOf(args, context);
      const target = trimmed(args.path);
      return touching("make", target, () => {
        makeParents(target, args.makedirs);
        const created = lstatSync(target, { throwIfNoEntry: false }) === undefined;
        if (created) mkdirSync(target, { mode: 0o700 });
        const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
        withDescriptor(target, flags, (file) =>
          setOwnerAndMode(file, owner, mode ?? (created ? 0o755 : undefined)),
        );
        return { created };
      });
    },
  }),
  define({
    name: "file.remove",
    doc: "Removes a file, a symbolic link, or with recursive a directory; true when there was something.",
    args: {
      path,
      recursive: { type: "boolean", doc: "Removes a directory with everything in it." },
    },
    refuse: ({ path }) => (trimmed(path) === "/" ? "path: / is not removed" : undefined),
    run: ({ path, recursive = false }) =>
      touching("remove", path, () => removePath(trimmed(path), recursive)),
  }),
  define({
    name: "file.copy",
    doc: "Copies a regular file, whole or not at all, with its permission bits.",
    args: {
      src: { type: "path", required: true, doc: "The file to copy." },
      dst: { type: "path", required: true, doc: "The name of the copy, not a directory to put it in." },
      mode: {
        type: "mode",
        doc: "Permission bits; those of the file that is replaced, or else copied, by default.",
      },
      user,
      group,
      makedirs,
    },
    async run(args, context) {
      const wanted = await wantedOf(args, context);
      const target = trimmed(args.dst);
      return touching(`copy ${args.src} to`, target, async () => {
        makeParents(target, args.makedirs);
        return { bytes: await copyWhole(trimmed(args.src), target, wanted, context.signal) };
      });
    },
  }),
  define({
    name: "file.symlink",
    doc: "Makes a symbolic link; true when it was not there already.",
    args: {
      src: { type: "string", required: true, doc: "What the link points to." },
      path,
      force: { type: "boolean", doc: "Replaces a file or another link of this name." },
      makedirs,
    },
    refuse: ({ src }) => (src === "" || src.includes("\0") ? "src: expected a path" : undefined),
    run: ({ src, path, force = false, makedirs }) =>
      touching("make", path, () => {
        makeParents(trimmed(path), makedirs);
        return makeLink(src, trimmed(path), force);
      }),
  }),
  define({
    name: "file.get_hash",
    doc: "Gives the digest of a regular file in hexadecimal.",
    args: {
      path,
      form: {
        type: "string",
        values: ["sha256", "sha512", "sha1", "md5"],
        doc: "The kind of digest; sha256 by default.",
      },
    },
    run: ({ path, form = "sha256" }, { signal }) =>
      touching("read", path, () => hashFile(trimmed(path), form, signal)),
  }),
  define({
    name: "file.set_mode",
    doc: "Sets the permission bits of a file or directory; follows no symbolic link.",
    args: { path, mode: { type: "mode", required: true, doc: "Permission bits." } },
    run: ({ path, mode }) =>
      touching("change", path, () => {
        const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
        withDescriptor(trimmed(path), flags, (file) => fchmodSync(file, modeBits(mode)));
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
        lchownSync(trimmed(args.path), uid, gid);
        return true;
      });
    },
  }),
];

/** What a path leads to; nothing also when it leads through a file that is no directory. */
function statIfPresent(path: string): Promise<Stats | undefined> {
  return touching("look at", path, () => {
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

function withDescriptor(path: string, flags: number, run: (file: number) => void): void {
  const file = openSync(path, flags);
  try {
    run(file);
  } finally {
    closeSync(file);
  }
}
