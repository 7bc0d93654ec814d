import { untilAborted } from "../../base/clock.ts";
import { arg } from "./define.ts";
import type { CallArgs, CallContext, ModuleFunction } from "./function.ts";

const name = { type: "string", required: true } as const;

/** The facts of the host. The aliases with `grains` are Salt's names. */
export const factsFunctions: readonly ModuleFunction[] = [
  {
    name: "facts.items",
    aliases: ["grains.items"],
    doc: "Returns all facts of the peel.",
    args: {},
    readOnly: true,
    async run(_, context) {
      const facts = await collected(context);
      return { ...facts.items() };
    },
  },
  {
    name: "facts.ls",
    aliases: ["grains.ls"],
    doc: "Returns the names of all facts, sorted.",
    args: {},
    readOnly: true,
    async run(_, context) {
      const facts = await collected(context);
      return Object.keys(facts.items()).sort();
    },
  },
  {
    name: "facts.get",
    aliases: ["grains.get"],
    doc: "Returns one fact, or a value inside it.",
    args: {
      name: { ...name, doc: "Path of the fact, with colons as separators: os, mounts:/:fstype, ipv4:0." },
      default: arg.any("Value to return if the fact does not exist; null by default."),
    },
    readOnly: true,
    async run(args, context) {
      const facts = await collected(context);
      return facts.get(String(args.name), args.default ?? null) ?? null;
    },
  },
  {
    name: "facts.set",
    aliases: ["grains.set"],
    doc: "Stores a fact on the peel until it is set to null. It overrides every other source. The call waits in the queue.",
    args: {
      name: { ...name, doc: "Name of the fact: letters, digits, _, - and dots." },
      value: arg.any("Any plain value; null removes the stored fact.", { required: true, data: "text" }),
    },
    run: setFact,
  },
  {
    name: "facts.refresh",
    aliases: ["grains.refresh"],
    doc: "Collects all facts again and returns whether any of them changed.",
    args: {},
    readOnly: true,
    run: (_, context) => orAborted(context.facts.refresh(), context.signal),
  },
];

async function setFact(args: CallArgs, context: CallContext) {
  const facts = await collected(context);
  facts.set(String(args.name), args.value ?? null);
  return facts.get(String(args.name)) ?? null;
}

/**
 * The facts, after all of them are collected: shortly after the start, a fact program may still be running.
 */
async function collected({ facts, signal }: CallContext) {
  await orAborted(facts.ready, signal);
  return facts;
}

/** @throws the reason of the signal when it aborts first */
function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return Promise.race([promise, untilAborted(signal).then(() => Promise.reject(signal.reason))]);
}
