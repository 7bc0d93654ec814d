import { SvcError } from "../../../base/errors.ts";
import { formatJoinToken, type JoinToken, parseJoinToken } from "../../../identity/join-token/mod.ts";
import { rootsOf, spkiPin } from "../../../identity/trust/mod.ts";

/**
 * A token that came over the bus, with the pins that the operator vouches for and no others: an attacker who controls the bus could
 * name a root of its own, and hosts would join there.
 *
 * @param from.ca PEM that the operator verifies the bus with; absent where the host's trust store does
 * @throws SvcError `forbidden` when it is another token, or none of its pins matches a root that the operator knows
 */
export function vouchedToken(
  text: string,
  from: { id: string; ca: string | undefined },
): { word: string; token: JoinToken; warning?: string } {
  const token = parseJoinToken("the answer of the master", text);
  if (token.id !== from.id)
    throw new SvcError("forbidden", "the answer of the master is about another token");
  if (token.pins.length === 0) {
    const warning =
      "the fleet has no CA of its own, so the token has no pin: hosts verify the masters with their trust store";
    return { word: formatJoinToken(token), token, warning };
  }
  const known = rootsOf(from.ca ?? "").map(spkiPin);
  if (known.length === 0) {
    const warning = `this svc knows no root of the fleet (master.tls_ca): compare ${token.pins.join(", ")} with svc ca fingerprint on a master before you hand the token out`;
    return { word: formatJoinToken(token), token, warning };
  }
  const pins = token.pins.filter((pin) => known.includes(pin));
  if (pins.length === 0) {
    throw new SvcError(
      "forbidden",
      `the root that the master names (${token.pins.join(", ")}) is not the one that this svc trusts (${known.join(", ")}): compare both with svc ca fingerprint on a master, and put the root of the fleet into the file of master.tls_ca`,
    );
  }
  const vouched = { ...token, pins };
  return { word: formatJoinToken(vouched), token: vouched };
}
