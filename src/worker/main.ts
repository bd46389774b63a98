// Entry point of a worker process: follows the primary's messages, and ends when the primary is gone.
import { connectToPrimary, sendHeartbeats, type StartMessage, type ToWorker } from '../process/index.js';
import { exitStatus, flushLog, setLogLevel, PROGRAM_VERSION } from '../shared/index.js';
import { Worker } from './worker.js';

const primary = connectToPrimary();
let worker: Worker | undefined;

// Ctrl-C and a terminal hangup reach the whole process group, but the primary decides when to drain.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
process.on('SIGHUP', () => {});
primary.onDisconnect(() => process.exit(0));
primary.onMessage((message) => void onMessage(message));

async function onMessage(message: ToWorker): Promise<void> {
  switch (message.kind) {
    case 'start':
      await start(message);
      break;
    case 'retire':
      await worker?.retire(() => primary.send({ kind: 'left' }));
      primary.send({ kind: 'drained' });
      break;
    case 'announce-drain':
      worker?.announceDrain();
      break;
    case 'drain':
      await worker?.drain();
      primary.send({ kind: 'drained' });
      break;
    case 'stop':
      await worker?.stop(message.farewellsMs);
      // The final report, so that no counts are lost.
      sendReport(0);
      await flushLog();
      process.exit(0);
      break;
    case 'forget':
      worker?.forget(message.subject);
      primary.send({ kind: 'forgotten', ticket: message.ticket });
      break;
    case 'all-forgotten':
      worker?.onAllForgotten(message.ticket);
      break;
    case 'report':
      sendReport(message.ticket);
      break;
    case 'view': {
      const answer = await worker?.view(message.question);
      primary.send({ kind: 'view', ticket: message.ticket, answer: answer ?? 'null' });
      break;
    }
    case 'log-level':
      setLogLevel(message.level);
      break;
    case 'readiness':
      worker?.onReadiness(message.isReady);
      break;
  }
}

function sendReport(ticket: number): void {
  if (worker !== undefined) primary.send({ kind: 'report', ticket, series: worker.report() });
}

async function start(message: StartMessage): Promise<void> {
  try {
    worker = await Worker.start(message, primary);
    primary.send({ kind: 'listening', version: PROGRAM_VERSION });
    sendHeartbeats(primary, message.options.workerHangTimeoutMs);
  } catch (error) {
    primary.send({ kind: 'start-failed', reason: error instanceof Error ? error.message : String(error) });
    process.exitCode = exitStatus.unavailable;
    process.disconnect();
  }
}
