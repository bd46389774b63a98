// The worker's end of the channel in a real process: sends back what it got, as the reason of a failed start.
import { connectToPrimary } from '../../src/ipc/channel.js';

if (process.connected) {
  const primary = connectToPrimary();
  primary.onMessage((message) => primary.send({ kind: 'start-failed', reason: JSON.stringify(message) }));
  primary.onDisconnect(() => {
    // To a closed channel: must not throw, nor fail in any other way.
    primary.send({ kind: 'drained' });
    primary.onDisconnect(() => process.exit(7));
  });
}
