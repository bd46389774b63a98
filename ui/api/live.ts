// What the dataplane is doing now, as the control plane reports it: an event stream, read with `fetch` because an `EventSource` cannot send
// the token in a header. A stream that ends, breaks or falls silent is reopened for as long as a page shows it.
import { useEffect, useState } from 'preact/hooks';
import { EventReader } from '../model/event-reader.js';
import { ApiFault, askRaw, faultWords } from './api.js';
import { token } from './session.js';
import type { LiveReading } from './view-types.js';

export interface Live {
  /** The latest reading; `undefined` until the first one. */
  readonly reading: LiveReading | undefined;
  /** The last readings, oldest first. */
  readonly past: readonly LiveReading[];
  /** Why there is no newer reading; `''` when there is one. */
  readonly fault: string;
  /** The control plane has no dataplane configured: no reading will come. */
  readonly isUnnamed: boolean;
}

const BLANK: Live = { reading: undefined, past: [], fault: '', isUnnamed: false };
const KEPT = 60;
/** Who comes back to the page soon sees at once what it showed. */
const FRESH_MS = 30_000;
let last = { live: BLANK, atMs: 0, token: '' };
const REOPEN_MS = 2_000;
/** The control plane sends something every few seconds, so a longer silence means that the stream is dead. */
const SILENCE_MS_MAX = 15_000;

export function useLive(): Live {
  const [live, setLive] = useState(() =>
    performance.now() - last.atMs < FRESH_MS && last.token === token.value ? last.live : BLANK,
  );
  const [isVisible, setVisible] = useState(document.visibilityState === 'visible');
  useEffect(() => {
    const look = (): void => setVisible(document.visibilityState === 'visible');
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  useEffect(() => {
    if (!isVisible || token.value === '') return undefined;
    const ending = new AbortController();
    void watch(ending.signal, (change) => {
      if (!ending.signal.aborted) setLive(change);
    });
    return () => ending.abort();
  }, [isVisible, token.value]);
  if (live.reading !== last.live.reading) last = { live, atMs: performance.now(), token: token.value };
  return live;
}

type Change = (known: Live) => Live;

async function watch(signal: AbortSignal, hear: (change: Change) => void): Promise<void> {
  while (!signal.aborted) {
    try {
      await readStream(signal, hear);
    } catch (error) {
      const isUnnamed = error instanceof ApiFault && error.status === 404;
      hear((known) => ({ ...known, fault: faultWords(error), isUnnamed }));
      if (isUnnamed || (error instanceof ApiFault && [401, 403].includes(error.status))) return;
    }
    await new Promise((resolve) => setTimeout(resolve, REOPEN_MS));
  }
}

/** Resolves when the stream ends or the caller aborts it. Throws an `ApiFault` when it is refused, breaks, or is silent for too long. */
async function readStream(ended: AbortSignal, hear: (change: Change) => void): Promise<void> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS_MAX);
  const signal = AbortSignal.any([ended, silence.signal]);
  try {
    const response = await askRaw('/dataplane/live', { accept: 'text/event-stream', signal });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const events = new EventReader();
    for (;;) {
      const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
      if (done || value === undefined) return;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS_MAX);
      for (const { event, data } of events.read(value)) hear(changeOf(event, data));
    }
  } catch (error) {
    if (error instanceof ApiFault) throw error;
    if (!ended.aborted) throw new ApiFault(0, 'The control plane has stopped responding; retrying');
  } finally {
    clearTimeout(timer);
  }
}

function changeOf(event: string, data: string): Change {
  if (event === 'fault') {
    const { detail } = JSON.parse(data) as { readonly detail: string };
    return (known) => ({ ...known, fault: detail, isUnnamed: false });
  }
  if (event !== 'load') return (known) => known;
  const reading = JSON.parse(data) as LiveReading;
  return ({ past }) => ({ reading, fault: '', isUnnamed: false, past: [...past, reading].slice(-KEPT) });
}
