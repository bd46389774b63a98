// Entry point of a worker process.
import { completeOptions } from '../config/index.js';
import { connectToPrimary, sendHeartbeats, type StartMessage, type ToWorker } from '../process/index.js';
import { flushLog, PROGRAM_VERSION } from '../shared/index.js';
import { Worker } from './worker.js';

const primary = connectToPrimary();
let worker: Worker | undefined;

// These signals are ignored: Ctrl-C and a terminal hangup reach the whole process group, but the primary decides when to drain.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
process.on('SIGHUP', () => {});
primary.onDisconnect(() => process.exit(0));
primary.onMessage((message) => {
  if (message.kind === 'start') void start(message);
  else void (worker?.onMessage(message) ?? onMessageBeforeStart(message));
});

async function start(message: StartMessage): Promise<void> {
  try {
    worker = await Worker.start({ ...message, options: completeOptions(message.options) }, primary);
    primary.send({ kind: 'listening', version: PROGRAM_VERSION });
    sendHeartbeats(primary, message.options.workerHangTimeoutMs);
  } catch (error) {
    primary.send({ kind: 'start-failed', reason: error instanceof Error ? error.message : String(error) });
    process.disconnect();
  }
}

/** Takes a message that arrives before the worker has started: there is nothing to end or to forget yet. */
async function onMessageBeforeStart(message: ToWorker): Promise<void> {
  if (message.kind === 'forget') primary.send({ kind: 'forgotten', ticket: message.ticket });
  if (message.kind !== 'stop') return;
  await flushLog();
  process.exit(0);
}
