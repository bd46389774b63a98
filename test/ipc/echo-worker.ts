// The worker's end of the channel in a real process: sends back what it got, as the reason of a failed start.
import { connectToPrimary } from '../../src/ipc/channel.js';

// Begins to listen on a signal, to what has come by then, and lets go of the channel at once.
if (process.env.LEAVES === 'yes' && process.connected) {
  const primary = connectToPrimary();
  process.once('SIGUSR2', () => {
    // What was sent before the signal has been read by then.
    setImmediate(() => primary.onMessage(() => process.disconnect()));
  });
  primary.onDisconnect(() => process.exit(0));
  process.stdout.write('ready');
} else if (process.connected) {
  const primary = connectToPrimary();
  primary.onMessage((message) => primary.send({ kind: 'start-failed', reason: JSON.stringify(message) }));
  primary.onDisconnect(() => {
    // To a closed channel: must not throw, nor fail in any other way.
    primary.send({ kind: 'drained' });
    primary.onDisconnect(() => process.exit(7));
  });
}
