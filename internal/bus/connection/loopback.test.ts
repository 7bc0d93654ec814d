import { expect, test } from "bun:test";
import { reachableUrl } from "./loopback.ts";

const knows = () => Promise.resolve({ address: "::1" });
const doesNot = () => Promise.reject(new Error("getaddrinfo EAI_AGAIN localhost"));

test.each([
  ["tls://localhost:4222", "tls://127.0.0.1:4222"],
  ["tls://LOCALHOST", "tls://127.0.0.1"],
  ["tls://localhost.example:4222", "tls://localhost.example:4222"],
  ["tls://bus:4222", "tls://bus:4222"],
  ["tls://[::1]:4222", "tls://[::1]:4222"],
])("%s is %s where the resolver does not know localhost, and itself where it does", async (url, expected) => {
  expect(await reachableUrl(url, doesNot)).toBe(expected);
  expect(await reachableUrl(url, knows)).toBe(url);
});
