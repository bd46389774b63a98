// Slips in starting, watching and stopping workers.
import { mutantsOf, type Mutant } from '../mutant.js';

export const primaryMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/primary/start-turns.ts',
    ['primary/start-turns'],
    [
      {
        slip: 'one worker more than the limit starts at once',
        text: 'this.#takenCount < this.#bounds.turnsMax',
        becomes: 'this.#takenCount <= this.#bounds.turnsMax',
      },
      { slip: 'a turn is not given back when its start has ended', text: '    this.#takenCount--;', becomes: '' },
      {
        slip: 'a turn that was declined is not given back',
        text: 'if (!begin()) this.#takenCount--;',
        becomes: 'begin();',
      },
      {
        slip: 'the primary gives up while another start is under way',
        text: ' || this.#takenCount > 0 ||',
        becomes: ' ||',
      },
      {
        slip: 'the primary gives up although a worker has listened',
        text: 'return !this.#hasListened && this.#failureCount',
        becomes: 'return this.#failureCount',
      },
      {
        slip: 'a start that was stopped counts as a failed one',
        text: "else if (ending.kind === 'failed' && !this.#hasListened)",
        becomes: 'else if (!this.#hasListened)',
      },
      {
        slip: 'the primary gives up one failed start too late',
        text: 'this.#failureCount >= this.#bounds.failuresMax;',
        becomes: 'this.#failureCount > this.#bounds.failuresMax;',
      },
      { slip: 'the slot that asked last starts first', text: 'this.#queue.shift();', becomes: 'this.#queue.pop();' },
    ],
  ),
  ...mutantsOf(
    'src/primary/forget-rounds.ts',
    ['primary/forget-rounds'],
    [
      {
        slip: 'a round takes the ticket of its announcer as its own number',
        text: 'const ticket = ++this.#lastTicket;',
        becomes: 'const ticket = announcerTicket;',
      },
      {
        slip: 'a round without any worker never ends',
        text: 'if (round.waitingFor.size === 0) this.#end(ticket, round);',
        becomes: '',
      },
      {
        slip: 'a round ends when the first worker has forgotten',
        text: 'if (round.waitingFor.delete(worker) && round.waitingFor.size === 0) this.#end',
        becomes: 'if (round.waitingFor.delete(worker)) this.#end',
      },
      {
        slip: 'one round more than the limit is kept',
        text: 'if (this.#rounds.size < limits.forgetRoundsMax) return;',
        becomes: 'if (this.#rounds.size <= limits.forgetRoundsMax) return;',
      },
      {
        slip: 'the newest round is given up instead of the oldest',
        text: 'const [oldest] = this.#rounds.keys();',
        becomes: 'const oldest = [...this.#rounds.keys()].at(-1);',
      },
      { slip: 'a finished round is kept, and answered again', text: 'this.#rounds.delete(ticket);', becomes: '' },
      { slip: 'the timer of a round outlives the round', text: 'clearTimeout(round.timer);', becomes: '' },
      {
        slip: 'a silent worker is waited for without end',
        text: 'setTimeout(() => this.#giveUp(ticket), this.#roundMsMax);',
        becomes: 'setTimeout(() => {}, this.#roundMsMax);',
      },
      {
        slip: 'the announcer is answered with the number of the round instead of its own ticket',
        text: "{ kind: 'all-forgotten', ticket: round.announcerTicket }",
        becomes: "{ kind: 'all-forgotten', ticket }",
      },
    ],
  ),
  ...mutantsOf(
    'src/primary/slot.ts',
    ['primary/fleet', 'primary/run-primary'],
    [
      {
        slip: 'a worker that does not listen in time is not killed',
        after: 'this.#startFailure ??= `not listening',
        text: "this.#worker?.kill('SIGKILL');",
        becomes: '',
      },
      { slip: 'a worker that does not stop in time is not killed', text: "      worker.kill('SIGKILL');", becomes: '' },
      {
        slip: 'a worker that died after it had settled is replaced only after a delay',
        text: 'if (listenedMs >= this.#plan.bounds.workerSettledMs) this.#restartsInARow = 0;',
        becomes: '',
      },
      {
        slip: 'every worker that died counts as settled, so no replacement is delayed',
        text: 'if (listenedMs >= this.#plan.bounds.workerSettledMs) this.#restartsInARow = 0;',
        becomes: 'this.#restartsInARow = 0;',
      },
      {
        slip: 'a worker that died is not replaced',
        text: '    const delayMs = restartDelayMs(this.#restartsInARow++, this.#plan.bounds);',
        becomes:
          '    const delayMs = restartDelayMs(this.#restartsInARow++, this.#plan.bounds); if (delayMs === 0) return;',
      },
      {
        slip: 'a start that failed twice is not tried again',
        text: "this.#logger.error({ reason, failedStarts, nextTryMs: delayMs }, 'worker cannot start');",
        becomes: 'if (failedStarts > 1) return;',
      },
      {
        slip: 'the count of failed starts is not reset when a worker listens',
        text: '        this.#failedStartsInARow = 0;',
        becomes: '',
      },
      {
        slip: 'the timer of a slot outlives the state that set it',
        text: '    clearTimeout(this.#timer);',
        becomes: '',
      },
      {
        slip: 'a worker that listens is told to stop without a drain',
        text: "const hasListened = this.#state === 'listening';",
        becomes: 'const hasListened = false;',
      },
      {
        slip: 'a worker that is still starting is drained instead of stopped',
        text: "const hasListened = this.#state === 'listening';",
        becomes: 'const hasListened = true;',
      },
      {
        slip: 'a stopping worker is asked to forget a changed config',
        text: "return this.#state === 'stopping' ? undefined : this.#worker;",
        becomes: 'return this.#worker;',
      },
      { slip: 'a dead worker is asked to forget a changed config', text: 'this.#worker = undefined;', becomes: '' },
      {
        slip: 'rounds keep waiting for a worker that has exited',
        text: '    this.#observer.onExit(worker);',
        becomes: '',
      },
      {
        slip: 'a slot counts as failing one failed start too late',
        text: 'return this.#failedStartsInARow >= this.#plan.bounds.workerStartTriesMax;',
        becomes: 'return this.#failedStartsInARow > this.#plan.bounds.workerStartTriesMax;',
      },
      {
        slip: 'the fleet is not told that a start has failed',
        after: "'worker cannot start'",
        text: 'this.#observer.onState();',
        becomes: '',
      },
      {
        slip: 'the reason that a worker gives for its failed start is lost',
        text: 'this.#startFailure = message.reason;',
        becomes: '',
      },
      { slip: 'a killed worker is replaced', after: 'kill(): void {', text: "this.#advance('stop');", becomes: '' },
      {
        slip: 'all slots retry failed starts at the same moment',
        text: 'return Math.round(spread(delayMs, random));',
        becomes: 'return Math.round(delayMs);',
      },
      {
        slip: "the heap may take all of a worker's memory instead of half",
        text: 'Math.floor(workerMemoryBytes / 2 ** 21)',
        becomes: 'Math.floor(workerMemoryBytes / 2 ** 20)',
        noticedBy: ['primary/run-primary'],
      },
    ],
  ),
  ...mutantsOf(
    'src/primary/slot-state.ts',
    ['primary/slot-state'],
    [
      {
        slip: 'a worker that dies while it drains is replaced',
        text: "draining: { exit: 'stopped',",
        becomes: "draining: { exit: 'waiting',",
      },
      {
        slip: 'a slot that waits to start is not stopped by a drain',
        text: "waiting: { fork: 'starting', drain: 'stopped',",
        becomes: "waiting: { fork: 'starting', drain: 'waiting',",
      },
    ],
  ),
  ...mutantsOf(
    'src/primary/fleet.ts',
    ['primary/fleet', 'primary/run-primary'],
    [
      {
        slip: 'workers get only the minimum time to stop although drain time is left',
        text: 'Math.max(Math.round(endMs - performance.now()), this.#bounds.workerStopMs);',
        becomes: 'this.#bounds.workerStopMs;',
      },
      {
        slip: 'workers get no time to stop after a drain that took its whole timeout',
        text: 'Math.max(Math.round(endMs - performance.now()), this.#bounds.workerStopMs);',
        becomes: 'Math.round(endMs - performance.now());',
      },
      {
        slip: 'the time to exit after notifying backends does not grow with the drain timeout',
        text: 'Math.max(bounds.workerExitMs, inProportionMs)',
        becomes: 'bounds.workerExitMs',
      },
      {
        slip: 'the drain has no timeout',
        text: "await Promise.race([this.#untilAllAre('drained', 'stopping', 'stopped'), timeIsUp]);",
        becomes: "await this.#untilAllAre('drained', 'stopping', 'stopped');",
      },
      {
        slip: 'workers are told to stop without waiting for their drain',
        text: "await Promise.race([this.#untilAllAre('drained', 'stopping', 'stopped'), timeIsUp]);",
        becomes: '',
      },
      {
        slip: 'the timer of a drain outlives the drain',
        text: '    timer.abort();',
        after: "'drained', 'stopping', 'stopped'), timeIsUp]);",
        becomes: '',
      },
      {
        slip: 'the drain ends without waiting for the workers to stop',
        text: "    await this.#untilAllAre('stopped');",
        becomes: '',
      },
      {
        slip: 'all workers start at once',
        text: 'const turnsMax = Math.min(slotCount, plan.bounds.workerStartsAtOnceMax);',
        becomes: 'const turnsMax = slotCount;',
      },
      {
        slip: 'readiness waits for a slot that keeps failing',
        text: "slot.state === 'listening' || slot.isFailing),",
        becomes: "slot.state === 'listening'),",
      },
      {
        slip: 'the fleet is ready without any worker that listens',
        text: '() => countListening() > 0 && this.#slots.every',
        becomes: '() => this.#slots.every',
      },
      {
        slip: 'a wait for a state is checked again and again after it has ended',
        text: 'this.#onStateChange.delete(check);',
        becomes: '',
      },
      {
        slip: 'the worker that announced the change is not asked to forget',
        text: 'message.subject, this.#servingWorkers());',
        becomes: 'message.subject, this.#servingWorkers().filter((each) => each !== worker));',
      },
    ],
  ),
  ...mutantsOf(
    'src/primary/address-claim.ts',
    ['primary/listen-addresses'],
    [
      {
        slip: 'the same port on another address counts as an overlap',
        text: 'return isWildcard && !isIPv6(one.host) && !isIPv6(other.host);',
        becomes: 'return true;',
      },
      {
        slip: '0.0.0.0 and a single IPv4 address do not count as an overlap',
        text: 'return isWildcard && !isIPv6(one.host) && !isIPv6(other.host);',
        becomes: 'return false;',
      },
      {
        slip: 'addresses with different ports count as an overlap',
        text: 'if (one.port !== other.port) return false;',
        becomes: '',
      },
      {
        slip: 'a listener on :: does not count as an overlap with IPv4 addresses',
        text: "if (one.host === '::' || other.host === '::') return true;",
        becomes: '',
      },
      {
        slip: 'a claim keeps the process from ending',
        text: 'holder.unref();',
        becomes: '',
        noticedBy: ['primary/run-primary'],
      },
      { slip: 'a claim is never released', text: 'this.#holder?.close();', becomes: '' },
      {
        slip: 'an address can be claimed although a claimed one overlaps with it',
        text: 'if (readClaims().some((claimed) => isOverlapping(address, claimed))) throw inUse();',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/primary/listen-addresses.ts',
    ['primary/listen-addresses'],
    [
      {
        slip: 'the claim of one address is kept when binding the other fails',
        text: 'for (const { claim } of bound) claim.release();',
        becomes: '',
      },
      {
        slip: 'two gateways can bind the same port',
        text: 'exclusive: true }',
        becomes: 'exclusive: false, reusePort: true }',
      },
      {
        slip: 'a connection that arrives while the port is held keeps the server from closing',
        text: 'createServer((socket) => socket.destroy());',
        becomes: 'createServer();',
      },
      {
        slip: 'for port 0, a port is chosen that an outgoing connection may take',
        text: 'port: address.port || choosePort()',
        becomes: 'port: address.port',
      },
      {
        slip: 'another port is chosen after any failure, not only when the port is in use',
        text: 'if (choicesLeft > 1 && isInUse(error)) continue;',
        becomes: 'if (choicesLeft > 1) continue;',
      },
      {
        slip: 'no other port is chosen when the chosen one is in use',
        text: 'if (choicesLeft > 1 && isInUse(error)) continue;',
        becomes: '',
      },
      {
        slip: 'a fault of the TLS address names the wrong option',
        text: "bind(options.tls.address, '--tls-address', bound),",
        becomes: "bind(options.tls.address, '--address', bound),",
      },
    ],
  ),
  ...mutantsOf(
    'src/primary/hop-directory.ts',
    ['primary/hop-directory'],
    [
      {
        slip: 'a hop directory is removed after any failed connection to its holder, not only a refused one',
        text: "return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';",
        becomes: 'return true;',
      },
      {
        slip: 'a directory that is not private to this user is removed',
        text: 'if (!isPrivateFolder(path) || !(await isDeserted(path))) continue;',
        becomes: 'if (!(await isDeserted(path))) continue;',
      },
      {
        slip: "a directory whose name only begins like a hop directory's is removed",
        text: 'const NAME = /^switchyard-[A-Za-z0-9]{6}$/;',
        becomes: 'const NAME = /^switchyard-/;',
      },
      {
        slip: 'a socket path one byte longer than the limit is accepted',
        text: 'Buffer.byteLength(longestPath) > limits.unixSocketPathBytesMax',
        becomes: 'Buffer.byteLength(longestPath) > limits.unixSocketPathBytesMax + 1',
      },
      {
        slip: "the length of the first slot's socket path is checked instead of the longest",
        text: '`slot-${slotCount - 1}.sock`',
        becomes: '`slot-${0 * slotCount}.sock`',
      },
      {
        slip: 'a hop directory that cannot be used is left behind',
        after: 'await directory.#hold();',
        text: 'rmSync(path, { recursive: true, force: true });',
        becomes: '',
        noticedBy: ['primary/hop-directory'],
      },
      {
        slip: 'the number of leftover directories that are checked has no bound',
        text: 'names.slice(0, limits.hopDirectoriesSweptMax)',
        becomes: 'names',
      },
    ],
  ),
  ...mutantsOf(
    'src/primary/run-primary.ts',
    ['primary/run-primary'],
    [
      { slip: 'the hop directory is not removed at the end', text: 'await hopDirectory?.remove();', becomes: '' },
      {
        slip: 'the store is not checked for damage before the start',
        text: 'await checkStore(options, entry);',
        becomes: '',
      },
      {
        slip: 'a program that failed exits with status 0',
        text: 'if (hasFailed) return exitStatus.software;',
        becomes: '',
      },
      {
        slip: 'a drain that a second signal cut short ends with exit status 0',
        text: 'return cutShortBy === undefined ? exitStatus.ok : 128 + constants.signals[cutShortBy];',
        becomes: 'return exitStatus.ok;',
      },
      {
        slip: 'a change of the log level is not logged when the log is quiet',
        text: "if (!logger.isLevelEnabled('warn')) logger.level = 'warn';",
        becomes: '',
      },
      { slip: 'a second signal does not kill the workers', text: '    fleet.kill();', becomes: '' },
      {
        slip: 'every gateway has the same hop secret',
        text: 'hopSecret: randomBytes(32),',
        becomes: 'hopSecret: Buffer.alloc(32),',
      },
      {
        slip: 'there is no log line when one worker cannot start',
        text: 'if (absentWorkers > 0) logger.error',
        becomes: 'if (absentWorkers > 1) logger.error',
      },
      {
        slip: 'there is no warning when neither a key nor a secret is configured',
        text: 'if (!hasKeys(options.token)) {',
        becomes: 'if (!hasKeys(options.token) && options.token.secret !== undefined) {',
      },
    ],
  ),
  ...mutantsOf(
    'src/primary/end-with-parent.ts',
    ['integration/run-directory'],
    [
      {
        slip: 'a worker that hangs outlives its primary',
        text: 'return status === 0 ? [SETPRIV, ...WORDS] : [];',
        becomes: 'return [];',
      },
    ],
  ),
];
