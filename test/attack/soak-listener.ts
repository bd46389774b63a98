// A tenant of the soak that listens: it opens a session's GET stream, subscribes, answers requests on the stream and within a
// call, and leaves, properly or not.
import type { ConfiguredCaller } from '../support/deployment.js';
import { EventReader } from '../support/event-reader.js';
import { memberText } from '../support/json-text.js';
import { answerText, INITIALIZE_PARAMS, type McpSession } from '../support/mcp-caller.js';
import type { Random } from '../support/random.js';
import type { Tell } from './soak-tenant.js';
import { NOTE_URI } from './talking-backend.js';

const OFFERS = INITIALIZE_PARAMS.replace('"capabilities":{}', '"capabilities":{"roots":{},"elicitation":{}}');
const EVENTS_MAX = 8;
const CALLS_MAX = 4;

/** @param name of the talking backend. */
export async function listen(caller: ConfiguredCaller, name: string, random: Random, tell: Tell): Promise<void> {
  const session = await caller.openSession({ params: OFFERS });
  const readers: EventReader[] = [];
  try {
    const reader = await openStream(session);
    readers.push(reader);
    if (reader.status !== 200) return tell(`HTTP ${reader.status} to GET`);
    const subscription = await session.send(
      `{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"${name}+${NOTE_URI}"}}`,
    );
    const isSubscribed = tellRefusal(subscription.status, answerText(subscription), tell);
    // A subscription that could not be opened yields no updates.
    if (isSubscribed) await hear(session, reader, name, 1 + random.below(EVENTS_MAX), tell);
    for (let calls = random.below(CALLS_MAX); calls > 0; calls--) await beAsked(session, name, random, tell);
    if (random.chance(0.3)) {
      const newer = await openStream(session);
      readers.push(newer);
      // The older stream ends, after whatever was on its way.
      await reader.rest();
      if (isSubscribed) await hear(session, newer, name, 1, tell);
    }
    if (random.chance(0.5)) {
      await session.delete();
      await readers.at(-1)?.rest();
    }
  } finally {
    for (const reader of readers) reader.close();
  }
}

function openStream(session: McpSession): Promise<EventReader> {
  return EventReader.open(session.caller, { method: 'GET', session: session.id, accept: 'text/event-stream' });
}

/** @returns true when there was no refusal. */
function tellRefusal(status: number, message: string, tell: Tell): boolean {
  if (status !== 200) tell(`HTTP ${status}`);
  else if (memberText(message, 'error') !== undefined) tell(memberText(message, 'error', 'code') ?? 'no code');
  else return true;
  return false;
}

/** Reads until `updates` updates have arrived. */
async function hear(
  session: McpSession,
  reader: EventReader,
  name: string,
  updates: number,
  tell: Tell,
): Promise<void> {
  const updated = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${name}+${NOTE_URI}"}}`;
  for (let left = updates; left > 0;) {
    const event = await reader.next();
    if (event === undefined) return tell('wrong: the stream of the session has ended');
    if (event.includes('"roots/list"')) {
      const id = memberText(event, 'id') ?? '';
      const { status } = await session.send(`{"jsonrpc":"2.0","id":${id},"result":{"roots":[]}}`);
      tell(status === 202 ? 'right' : `HTTP ${status} to an answer`);
    } else if (!isCancellation(event)) {
      tell(event === updated ? 'right' : `wrong: ${event.slice(0, 200)}`);
      left -= 1;
    }
  }
}

/** A backend's requests are cancelled when the backend is gone. */
function isCancellation(event: string): boolean {
  return memberText(event, 'method') === '"notifications/cancelled"';
}

async function nextAnswer(stream: EventReader): Promise<string> {
  for (;;) {
    const event = (await stream.next()) ?? '';
    if (!isCancellation(event)) return event;
  }
}

async function beAsked(session: McpSession, name: string, random: Random, tell: Tell): Promise<void> {
  const params = `{"name":"${name}-ask","arguments":{}}`;
  const body = `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":${params}}`;
  const stream = await EventReader.open(session.caller, { session: session.id, body });
  try {
    if (stream.status !== 200) return tell(`HTTP ${stream.status}`);
    if (!new Map(stream.headers).get('content-type')?.startsWith('text/event-stream')) return tell('-32603');
    const asked = (await stream.next()) ?? '';
    if (memberText(asked, 'method') !== '"elicitation/create"') {
      return void (tellRefusal(200, asked, tell) && tell(`wrong: ${asked.slice(0, 200)}`));
    }
    // Some leave instead of answering.
    if (random.chance(0.2)) return;
    const result = `{"action":"accept","content":{"number":${random.below(1_000_000)}.0}}`;
    const reply = `{"jsonrpc":"2.0","id":${memberText(asked, 'id')},"result":${result}}`;
    const { status } = await session.send(reply);
    if (status !== 202) tell(`HTTP ${status} to an answer`);
    const answer = await nextAnswer(stream);
    if (!tellRefusal(200, answer, tell)) return;
    const told = memberText(answer, 'result', 'structuredContent', 'answered');
    tell(told === result ? 'right' : `wrong: ${answer.slice(0, 200)}`);
  } finally {
    stream.close();
  }
}
