import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { sourceOf } from "../../base/names/ip-network.ts";
import type { JoinStep } from "../../fleet/operation/door-table/mod.ts";
import { type JoinPlace, type JoinPlaces, joinLimits } from "./join-places.ts";
import type { BudgetName } from "./limit.ts";
import type { RateLimits } from "./rate-limits.ts";

/** A request that is a step of a join. */
export interface JoinRequest {
  readonly step: JoinStep;
  /** The budget of its route. */
  readonly budget: BudgetName;
  readonly ip: string;
  /** The token that a request for a challenge names. */
  readonly token: string | null;
  /** The enrollment in the path. */
  readonly enrollment: string | undefined;
  /** Reads the body, once. */
  body(): Promise<unknown>;
}

/** A step of a join, until it is answered. */
export interface JoinPayment {
  /** Whether a token pays for it; otherwise its source does. */
  readonly isByToken: boolean;
  /** Charges its source for what failed at the expense of the token, and gives back what a successful join took. */
  answered(response: Response): Promise<void>;
}

/** Decides who pays for the requests of hosts that join. */
export interface JoinBudget {
  begin(request: JoinRequest): Promise<JoinPayment>;
}

/** A host on its way, known by its challenge first, and by its enrollment once it has one. */
interface Ticket {
  readonly source: string;
  readonly place: JoinPlace | undefined;
  /** Answered requests that its source paid for. */
  spent: number;
  /** Requests that its token still pays for: they are limited, so that a place does not allow polling. */
  left: number;
  /** It proved that it has a token. */
  isProven: boolean;
  /** The token pays for one request at a time. */
  isBusy: boolean;
  /** On the monotonic clock. */
  until: number;
}

/** The challenge, further evidence, the submission, and one more. */
const unprovenRequests = 4;
const provenRequests = 16;
const maxTickets = 16_384;

interface Deps {
  places: JoinPlaces;
  limits: RateLimits;
  clock: Pick<Clock, "monotonic">;
}
type Open = Deps & { readonly tickets: ReturnType<typeof createBoundedMap<Ticket>> };

export function createJoinBudget(deps: Deps): JoinBudget {
  const open: Open = { ...deps, tickets: createBoundedMap<Ticket>(maxTickets) };
  return {
    async begin(request) {
      const body = await earlyBodyOf(open, request);
      // Without a pause until the ticket is busy: it pays for one request at a time.
      const ticket = ticketFor(open, request, body);
      const isByToken = isPaidByToken(open, request, ticket, body);
      if (isByToken) {
        ticket.isBusy = true;
        ticket.left -= 1;
      }
      return {
        isByToken,
        async answered(response) {
          if (isByToken) ticket.isBusy = false;
          else if (response.ok) ticket.spent += 1;
          const step = { ...request, body: await bodyOf(request), fields: await fieldsOf(request, response) };
          if (response.ok && isDone(open, step, ticket)) return;
          if (isByToken) charge(open, step, ticket, response.status);
        },
      };
    },
  };
}

/** The body of a request, before anybody has paid for it: nothing is read for a source without a place. */
async function earlyBodyOf({ places }: Open, request: JoinRequest): Promise<unknown> {
  return places.unprovenOf(sourceOf(request.ip)) > 0 ? bodyOf(request) : undefined;
}

/** @returns `undefined` without a body, and for one that is refused */
async function bodyOf({ step, body }: JoinRequest): Promise<unknown> {
  return step === "evidence" || step === "submit" ? body().catch(() => undefined) : undefined;
}

/** The ticket of a request; a new one for a challenge, and for a host that began elsewhere. */
function ticketFor({ places, tickets, clock }: Open, request: JoinRequest, body: unknown): Ticket {
  const { step, token, enrollment, ip } = request;
  const [source, now] = [sourceOf(ip), clock.monotonic()];
  const key = challengeOf(body) ?? enrollment;
  const found = key === undefined ? undefined : tickets.get(key);
  if (found !== undefined && found.source === source && found.until > now) return found;
  const place = step === "challenge" && token !== null ? places.begin(token, source) : undefined;
  const until = now + joinLimits.provenMs;
  return { ...{ source, place, spent: 0, left: unprovenRequests, isProven: false, isBusy: false }, until };
}

function isPaidByToken({ places }: Open, request: JoinRequest, ticket: Ticket, body: unknown): boolean {
  const { place, left, isBusy } = ticket;
  if (place === undefined || isBusy || left === 0 || !places.holds(place)) return false;
  return request.step !== "submit" || tokenOf(body) === place.token;
}

/** A step that was answered. */
interface Answered extends Omit<JoinRequest, "body"> {
  readonly body: unknown;
  /** Those of its answer. */
  readonly fields: Record<string, unknown>;
}

/** Notes what a step has achieved. @returns whether it has achieved anything */
function isDone(open: Open, answered: Answered, ticket: Ticket): boolean {
  switch (answered.step) {
    case "challenge":
      open.tickets.set(String(answered.fields.challenge_id), ticket);
      return true;
    case "submit":
      return isSubmitted(open, answered, ticket);
    case "stream":
      // It waits for a person from here on.
      end(open, ticket);
      return true;
    case "credentials":
      end(open, ticket);
      giveBack(open, answered, ticket);
      return true;
    default:
      return true;
  }
}

function isSubmitted(open: Open, answered: Answered, ticket: Ticket): boolean {
  const { tickets, places, clock } = open;
  const { body, fields } = answered;
  const challenge = challengeOf(body) ?? "";
  const begun = tickets.get(challenge);
  tickets.delete(challenge);
  if (fields.key_mismatch === true) return false;
  if (tokenOf(body) === undefined) return true;
  // Its source had no place, so nothing was read before it paid.
  if (begun !== undefined && begun !== ticket && begun.source === ticket.source) ticket.spent += begun.spent;
  // It gets back what it took once, however often it sends its request again.
  if (tickets.get(String(fields.id)) !== undefined) ticket.spent = 0;
  if (ticket.place !== undefined) places.prove(ticket.place);
  ticket.isProven = true;
  ticket.left = provenRequests;
  ticket.until = clock.monotonic() + joinLimits.provenMs;
  tickets.set(String(fields.id), ticket);
  if (fields.state === "approved") giveBack(open, answered, ticket);
  return true;
}

/** A request failed that a token paid for, and nobody knows whether it had to do with the token. */
function charge({ places, tickets, limits }: Open, answered: Answered, ticket: Ticket, status: number): void {
  const { step, budget, ip, body } = answered;
  const { place } = ticket;
  if (place === undefined) return;
  // Its challenge is used up: the same request, sent again, is not a wrong proof.
  if (step === "submit") tickets.delete(challengeOf(body) ?? "");
  // It was not judged. Its place stays until it ends, so that nobody profits from a master that cannot answer.
  if (status >= 500) return;
  const isPaid = limits.allow(budget, ip);
  if (status === 401 || !isPaid) places.fail(place);
  else if (step === "challenge" || step === "submit") places.end(place);
}

function end({ places }: Open, { place }: Ticket): void {
  if (place !== undefined) places.end(place);
}

function giveBack({ limits }: Deps, { budget, ip }: Answered, ticket: Ticket): void {
  if (!ticket.isProven) return;
  limits.giveBack(budget, ip, ticket.spent);
  ticket.spent = 0;
}

const isText = (value: unknown): value is string => typeof value === "string";

function challengeOf(body: unknown): string | undefined {
  const { challenge_id: id } = Object(body) as Record<string, unknown>;
  return isText(id) ? id : undefined;
}

function tokenOf(body: unknown): string | undefined {
  const { token } = Object(body) as Record<string, unknown>;
  const { id } = Object(token) as Record<string, unknown>;
  return isText(id) ? id : undefined;
}

/** The fields of an answer; none where they do not matter, such as those of a stream. */
async function fieldsOf({ step }: JoinRequest, response: Response): Promise<Record<string, unknown>> {
  const isRead = response.ok && (step === "challenge" || step === "submit");
  return isRead ? (Object(await response.clone().json()) as Record<string, unknown>) : {};
}
