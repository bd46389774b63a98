// The worker's end of the channel in a real process: sends back each message as the reason of a failed start.
import { connectToPrimary } from '../../src/process/channel.js';

// Starts listening at a signal, receives what has arrived by then, and disconnects at once.
if (process.env.LEAVES === 'yes' && process.connected) {
  const primary = connectToPrimary();
  process.once('SIGUSR2', () => {
    // By then, messages sent before the signal have been read.
    setImmediate(() => primary.onMessage(() => process.disconnect()));
  });
  primary.onDisconnect(() => process.exit(0));
  process.stdout.write('ready');
} else if (process.connected) {
  const primary = connectToPrimary();
  primary.onMessage((message) => primary.send({ kind: 'start-failed', reason: JSON.stringify(message) }));
  primary.onDisconnect(() => {
    // The channel is closed: sending must neither throw nor fail in any other way.
    primary.send({ kind: 'drained' });
    primary.onDisconnect(() => process.exit(7));
  });
}
