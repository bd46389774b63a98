// A worker that serves nothing and behaves as its plan says. It records what happens to it in a journal file, from which tests read its
// process id and the order of events among workers.
import { appendFileSync, existsSync } from 'node:fs';
import { connectToPrimary, sendHeartbeats } from '../../src/process/channel.js';
import type { StartMessage, ToWorker } from '../../src/process/messages.js';

export interface StubPlan {
  readonly start?: 'listen' | 'report-failure' | 'exit' | 'crash' | 'hang' | 'send-stray-first';
  /** The worker listens once this file exists. */
  readonly gate?: string;
  /** The worker cannot start while this file exists. */
  readonly obstacle?: string;
  /** The obstacle of the store that the worker reports until the file `storeGate` exists. */
  readonly storeObstacle?: string;
  readonly storeGate?: string;
  /** Why what is read may be out of date, reported with the obstacle. */
  readonly storeStaleness?: string;
  /** Why the worker has no key at all, as it reports before it listens. */
  readonly keysObstacle?: string;
  readonly drain?: 'answer' | 'ignore';
  readonly stop?: 'exit' | 'ignore';
  readonly forget?: 'answer' | 'ignore';
}

export interface JournalEntry {
  readonly slot: number;
  readonly pid: number;
  readonly event: ToWorker['kind'] | 'listening' | 'disconnected';
  readonly message?: ToWorker;
}

/** The stub's environment: its journal, and one plan for each slot (or fewer, for the first slots). */
export function stubEnvironment(journal: string, plans: readonly StubPlan[]): NodeJS.ProcessEnv {
  return { ...process.env, NODE_OPTIONS: '', STUB_JOURNAL: journal, STUB_PLANS: JSON.stringify(plans) };
}

export const stubModule = new URL(import.meta.url);
/** At this signal a stub announces that it wrote the config of `stubSubject`, with `stubTicket`. */
export const announceSignal = 'SIGUSR2';
/** At this signal a stub enters a loop, so that its event loop never runs again; only the end of its primary ends it. */
export const loopSignal = 'SIGWINCH';
export const stubSubject = 'alice@example.com';
export const stubTicket = 1;
/** The version that the slot's stub says that it runs. */
export const stubVersion = (slot: number): string => `0.0.${slot}`;

function main(journal: string): void {
  const primary = connectToPrimary();
  let slot = -1;
  let plan: StubPlan = {};
  let hangTimeoutMs = 0;

  function note(event: JournalEntry['event'], message?: ToWorker): void {
    appendFileSync(journal, `${JSON.stringify({ slot, pid: process.pid, event, message })}\n`);
  }

  function listen(): void {
    if (plan.gate !== undefined && !existsSync(plan.gate)) {
      setTimeout(listen, 10);
      return;
    }
    if (plan.storeObstacle !== undefined) tellOfStore(plan.storeObstacle, plan.storeGate);
    if (plan.keysObstacle !== undefined) primary.send({ kind: 'keys', obstacle: plan.keysObstacle, isInTheWay: true });
    primary.send({ kind: 'listening', version: stubVersion(slot) });
    sendHeartbeats(primary, hangTimeoutMs);
    note('listening'); // only after the message was sent: a test that reads this may kill the stub
  }

  function tellOfStore(obstacle: string, gate = ''): void {
    const isOpen = existsSync(gate);
    primary.send({ kind: 'store', obstacle: isOpen ? '' : obstacle, staleness: plan.storeStaleness });
    if (!isOpen) setTimeout(() => tellOfStore(obstacle, gate), 10);
  }

  function fail(): void {
    primary.send({ kind: 'start-failed', reason: 'the certificate is of wax' });
    process.disconnect(); // sends what is pending, and the stub exits
  }

  function start(message: StartMessage): void {
    slot = message.slot;
    hangTimeoutMs = message.options.workerHangTimeoutMs;
    plan = (JSON.parse(process.env.STUB_PLANS ?? '[]') as StubPlan[])[slot] ?? {};
    note('start', message);
    if (plan.obstacle !== undefined && existsSync(plan.obstacle)) {
      fail();
      return;
    }
    switch (plan.start) {
      case 'report-failure':
        fail();
        return;
      case 'exit':
        process.exit(3);
        return;
      case 'crash':
        process.exit(1);
        return;
      case 'hang':
        return;
      case 'send-stray-first':
        process.send?.({ kind: 'toString' });
        listen();
        return;
      case 'listen':
      case undefined:
        listen();
    }
  }

  primary.onMessage((message) => {
    if (message.kind === 'start') {
      start(message);
      return;
    }
    note(message.kind, message);
    if (message.kind === 'retire') primary.send({ kind: 'left' });
    if ((message.kind === 'drain' || message.kind === 'retire') && plan.drain !== 'ignore')
      primary.send({ kind: 'drained' });
    if (message.kind === 'report') {
      const series = [
        { name: 'switchyard_hops_total', labels: ['passed'], value: slot + 1 },
        { name: 'switchyard_sessions', labels: [], value: 10 },
      ] as const;
      primary.send({ kind: 'report', ticket: message.ticket, series });
    }
    if (message.kind === 'view')
      primary.send({ kind: 'view', ticket: message.ticket, answer: JSON.stringify({ pid: process.pid }) });
    if (message.kind === 'stop' && plan.stop !== 'ignore') process.exit(0);
    if (message.kind === 'forget' && plan.forget !== 'ignore')
      primary.send({ kind: 'forgotten', ticket: message.ticket });
  });
  primary.onDisconnect(() => {
    note('disconnected');
    process.exit(0);
  });
  const primaryPid = process.ppid;
  process.on(loopSignal, () => {
    while (process.ppid === primaryPid);
    process.exit(1);
  });
  process.on(announceSignal, () => primary.send({ kind: 'written', subject: stubSubject, ticket: stubTicket }));
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});
  process.on('SIGHUP', () => {});
}

if (process.env.STUB_JOURNAL !== undefined && process.connected) main(process.env.STUB_JOURNAL);
