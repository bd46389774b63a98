// The first signal asks for a drain, another one later cuts it short; and a terminal that sends the same one twice at once does not.
import t, { type Test } from 'tap';
import { StopSignals, type StopSignal, STOP_SIGNAL_REPEAT_MS_MAX } from '../../src/process/stop-signals.js';

const SIGNALS: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

interface Scene {
  readonly signals: StopSignals;
  /** Sends a signal, so many milliseconds after the one before. */
  readonly send: (signal: StopSignal, laterMs: number) => void;
  readonly told: () => Promise<(StopSignal | 'none')[]>;
}

function scene(t: Test, onHangup?: () => void): Scene {
  const before = SIGNALS.map((signal) => process.listeners(signal));
  const signals = onHangup === undefined ? new StopSignals() : new StopSignals(onHangup);
  const added = SIGNALS.map((signal, at) => process.listeners(signal).filter((each) => !before[at]!.includes(each)));
  t.teardown(() => {
    for (const [at, signal] of SIGNALS.entries()) for (const each of added[at]!) process.off(signal, each);
  });
  let nowMs = 1_000_000;
  t.capture(performance, 'now', () => nowMs);
  const send = (signal: StopSignal, laterMs: number): void => {
    nowMs += laterMs;
    for (const each of added[SIGNALS.indexOf(signal)]!) each(signal);
  };
  const none = Promise.resolve('none' as const);
  const told = async () => [await Promise.race([signals.first, none]), await Promise.race([signals.second, none])];
  return { signals, send, told };
}

for (const signal of SIGNALS) {
  t.test(`${signal} asks for a drain, and once more cuts it short`, async (t) => {
    const { send, told } = scene(t);
    t.same(await told(), ['none', 'none']);
    send(signal, 0);
    t.same(await told(), [signal, 'none']);
    send('SIGTERM', STOP_SIGNAL_REPEAT_MS_MAX);
    t.same(await told(), [signal, 'none'], 'a terminal and a supervisor may both send it at the same time');
    send('SIGINT', 1);
    t.same(await told(), [signal, 'SIGINT']);
    send('SIGTERM', 10_000);
    t.same(await told(), [signal, 'SIGINT'], 'and what comes then changes nothing');
  });
}

t.test('a SIGHUP that means a reload stops nothing', async (t) => {
  let reloads = 0;
  const { send, told } = scene(t, () => void (reloads += 1));
  send('SIGHUP', 0);
  send('SIGHUP', 10_000);
  t.equal(reloads, 2);
  t.same(await told(), ['none', 'none']);
  send('SIGTERM', 0);
  t.same(await told(), ['SIGTERM', 'none']);
});
