import { expect, test } from "bun:test";
import { networkWords } from "./network-words.ts";

test.each([
  ["ECONNREFUSED", "connection refused"],
  ["ECONNRESET", "the connection was closed before an answer came"],
  ["EHOSTUNREACH", "there is no route to svc.example.com"],
  ["ENETUNREACH", "there is no route to svc.example.com"],
  ["ENOTFOUND", "the name svc.example.com has no address (ENOTFOUND)"],
  ["EAI_AGAIN", "the name svc.example.com has no address (EAI_AGAIN)"],
  ["EPROTO", "no TLS at this port"],
  ["CERT_HAS_EXPIRED", undefined],
])("%s is said as a person says it", (code, words) => {
  expect(networkWords(code, "svc.example.com")).toBe(words);
});
