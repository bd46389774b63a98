// Slips in starting, watching and stopping workers.
import { mutantsOf, type Mutant } from '../mutant.js';

export const primaryMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/primary/start-turns.ts',
    ['primary/start-turns'],
    [
      {
        slip: 'one start more at once than may be',
        text: 'this.#takenCount < this.#bounds.turnsMax',
        becomes: 'this.#takenCount <= this.#bounds.turnsMax',
      },
      { slip: 'a turn that ended is not free again', text: '    this.#takenCount--;', becomes: '' },
      { slip: 'a turn that is not wanted is kept', text: 'if (!begin()) this.#takenCount--;', becomes: 'begin();' },
      { slip: 'it is given up while a start is under way', text: ' || this.#takenCount > 0 ||', becomes: ' ||' },
      {
        slip: 'it is given up although one has listened',
        text: 'return !this.#hasListened && this.#failureCount',
        becomes: 'return this.#failureCount',
      },
      {
        slip: 'a start that was stopped counts as a failure',
        text: "else if (ending.kind === 'failed' && !this.#hasListened)",
        becomes: 'else if (!this.#hasListened)',
      },
      {
        slip: 'the last of the tries is not made',
        text: 'this.#failureCount >= this.#bounds.failuresMax;',
        becomes: 'this.#failureCount > this.#bounds.failuresMax;',
      },
      { slip: 'the last slot that asked goes first', text: 'this.#queue.shift();', becomes: 'this.#queue.pop();' },
    ],
  ),
  ...mutantsOf(
    'src/primary/forget-rounds.ts',
    ['primary/forget-rounds'],
    [
      {
        slip: 'the number of the announcer is that of the round',
        text: 'const ticket = ++this.#lastTicket;',
        becomes: 'const ticket = announcerTicket;',
      },
      {
        slip: 'a round without a worker never ends',
        text: 'if (round.waitingFor.size === 0) this.#end(ticket, round);',
        becomes: '',
      },
      {
        slip: 'one worker is enough',
        text: 'if (round.waitingFor.delete(worker) && round.waitingFor.size === 0) this.#end',
        becomes: 'if (round.waitingFor.delete(worker)) this.#end',
      },
      {
        slip: 'a round more than may be',
        text: 'if (this.#rounds.size < limits.forgetRoundsMax) return;',
        becomes: 'if (this.#rounds.size <= limits.forgetRoundsMax) return;',
      },
      {
        slip: 'the newest round is given up',
        text: 'const [oldest] = this.#rounds.keys();',
        becomes: 'const oldest = [...this.#rounds.keys()].at(-1);',
      },
      { slip: 'a round that is over is answered again', text: 'this.#rounds.delete(ticket);', becomes: '' },
      { slip: 'the timer of a round outlives it', text: 'clearTimeout(round.timer);', becomes: '' },
      {
        slip: 'a silent worker is waited for',
        text: 'setTimeout(() => this.#giveUp(ticket), this.#roundMsMax);',
        becomes: 'setTimeout(() => {}, this.#roundMsMax);',
      },
      {
        slip: 'the answer has the number of the round',
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
        slip: 'a worker that does not listen in time is left',
        after: 'this.#startFailure ??= `not listening',
        text: "this.#worker?.kill('SIGKILL');",
        becomes: '',
      },
      { slip: 'a worker that does not stop is left', text: "      worker.kill('SIGKILL');", becomes: '' },
      {
        slip: 'the restart of a settled worker waits',
        text: 'if (listenedMs >= this.#plan.bounds.workerSettledMs) this.#restartsInARow = 0;',
        becomes: '',
      },
      {
        slip: 'every worker counts as settled',
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
        slip: 'a failed start is not tried again',
        text: "this.#logger.error({ reason, failedStarts, nextTryMs: delayMs }, 'worker cannot start');",
        becomes: 'if (failedStarts > 1) return;',
      },
      {
        slip: 'failed starts count on after one that listened',
        text: '        this.#failedStartsInARow = 0;',
        becomes: '',
      },
      { slip: 'a timer outlives its state', text: '    clearTimeout(this.#timer);', becomes: '' },
      {
        slip: 'a worker that listens is stopped without a drain',
        text: "const hasListened = this.#state === 'listening';",
        becomes: 'const hasListened = false;',
      },
      {
        slip: 'a worker that starts is drained',
        text: "const hasListened = this.#state === 'listening';",
        becomes: 'const hasListened = true;',
      },
      {
        slip: 'a stopping worker is asked to forget',
        text: "return this.#state === 'stopping' ? undefined : this.#worker;",
        becomes: 'return this.#worker;',
      },
      { slip: 'a dead worker is asked to forget', text: 'this.#worker = undefined;', becomes: '' },
      { slip: 'rounds wait for a worker that is gone', text: '    this.#observer.onExit(worker);', becomes: '' },
      {
        slip: 'a slot is given up one try too late',
        text: 'return this.#failedStartsInARow >= this.#plan.bounds.workerStartTriesMax;',
        becomes: 'return this.#failedStartsInARow > this.#plan.bounds.workerStartTriesMax;',
      },
      {
        slip: 'nobody hears that a slot fails on',
        after: "'worker cannot start'",
        text: 'this.#observer.onState();',
        becomes: '',
      },
      { slip: 'the reason of a failed start is lost', text: 'this.#startFailure = message.reason;', becomes: '' },
      { slip: 'a killed worker is replaced', after: 'kill(): void {', text: "this.#advance('stop');", becomes: '' },
      {
        slip: 'slots are tried again in step',
        text: 'return Math.round(spread(delayMs, random));',
        becomes: 'return Math.round(delayMs);',
      },
      {
        slip: 'the heap may have all of the memory',
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
        slip: 'a worker that drains and dies is replaced',
        text: "draining: { exit: 'stopped',",
        becomes: "draining: { exit: 'waiting',",
      },
      {
        slip: 'a waiting slot outlives the drain',
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
        slip: 'stopping has all of the timeout once more',
        text: 'Math.max(Math.round(endMs - performance.now()), this.#bounds.workerStopMs);',
        becomes: 'this.#bounds.workerStopMs;',
      },
      {
        slip: 'after a long drain there is no time to stop',
        text: 'Math.max(Math.round(endMs - performance.now()), this.#bounds.workerStopMs);',
        becomes: 'Math.round(endMs - performance.now());',
      },
      {
        slip: 'a worker that is given long to stop tells backends until shortly before it is killed',
        text: 'Math.max(bounds.workerExitMs, inProportionMs)',
        becomes: 'bounds.workerExitMs',
      },
      {
        slip: 'the drain waits for ever',
        text: "await Promise.race([this.#untilAllAre('drained', 'stopping', 'stopped'), timeIsUp]);",
        becomes: "await this.#untilAllAre('drained', 'stopping', 'stopped');",
      },
      {
        slip: 'the drain is not waited for',
        text: "await Promise.race([this.#untilAllAre('drained', 'stopping', 'stopped'), timeIsUp]);",
        becomes: '',
      },
      {
        slip: 'the timer of a drain outlives it',
        text: '    timer.abort();',
        after: "'drained', 'stopping', 'stopped'), timeIsUp]);",
        becomes: '',
      },
      {
        slip: 'the end of the workers is not waited for',
        text: "    await this.#untilAllAre('stopped');",
        becomes: '',
      },
      {
        slip: 'all start at once',
        text: 'const turnsMax = Math.min(slotCount, plan.bounds.workerStartsAtOnceMax);',
        becomes: 'const turnsMax = slotCount;',
      },
      {
        slip: 'a slot that fails is waited for',
        text: "slot.state === 'listening' || slot.isFailing),",
        becomes: "slot.state === 'listening'),",
      },
      {
        slip: 'ready without a worker',
        text: '() => countListening() > 0 && this.#slots.every',
        becomes: '() => this.#slots.every',
      },
      { slip: 'who waits for a state is called for ever', text: 'this.#onStateChange.delete(check);', becomes: '' },
      {
        slip: 'the announcer is not asked to forget',
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
        slip: 'the same port on another address is in the way',
        text: 'return isWildcard && !isIPv6(one.host) && !isIPv6(other.host);',
        becomes: 'return true;',
      },
      {
        slip: 'all of IPv4 is not in the way of one address',
        text: 'return isWildcard && !isIPv6(one.host) && !isIPv6(other.host);',
        becomes: 'return false;',
      },
      { slip: 'another port is in the way', text: 'if (one.port !== other.port) return false;', becomes: '' },
      {
        slip: 'a listener on :: leaves IPv4 free',
        text: "if (one.host === '::' || other.host === '::') return true;",
        becomes: '',
      },
      {
        slip: 'a claim keeps the program from ending',
        text: 'holder.unref();',
        becomes: '',
        noticedBy: ['primary/run-primary'],
      },
      { slip: 'a claim is never let go', text: 'this.#holder?.close();', becomes: '' },
      {
        slip: 'claims that overlap stand side by side',
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
        slip: 'a claim that fails keeps the others',
        text: 'for (const { claim } of bound) claim.release();',
        becomes: '',
      },
      { slip: 'two gateways bind one port', text: 'exclusive: true }', becomes: 'exclusive: false, reusePort: true }' },
      {
        slip: 'a caller keeps the claim from its end',
        text: 'createServer((socket) => socket.destroy());',
        becomes: 'createServer();',
      },
      {
        slip: 'a port that an outgoing connection may take is chosen',
        text: 'port: address.port || choosePort()',
        becomes: 'port: address.port',
      },
      {
        slip: 'any fault has another port chosen',
        text: 'if (choicesLeft > 1 && isInUse(error)) continue;',
        becomes: 'if (choicesLeft > 1) continue;',
      },
      {
        slip: 'a port that was chosen badly is not chosen anew',
        text: 'if (choicesLeft > 1 && isInUse(error)) continue;',
        becomes: '',
      },
      {
        slip: 'the option is not named',
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
        slip: 'a directory in use is removed',
        text: "return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';",
        becomes: 'return true;',
      },
      {
        slip: 'a directory of others is removed',
        text: 'if (!isPrivateFolder(path) || !(await isDeserted(path))) continue;',
        becomes: 'if (!(await isDeserted(path))) continue;',
      },
      {
        slip: 'a directory of any name is removed',
        text: 'const NAME = /^switchyard-[A-Za-z0-9]{6}$/;',
        becomes: 'const NAME = /^switchyard-/;',
      },
      {
        slip: 'a path one byte too long is taken',
        text: 'Buffer.byteLength(longestPath) > limits.unixSocketPathBytesMax',
        becomes: 'Buffer.byteLength(longestPath) > limits.unixSocketPathBytesMax + 1',
      },
      {
        slip: 'the path of the first slot is measured',
        text: '`slot-${slotCount - 1}.sock`',
        becomes: '`slot-${0 * slotCount}.sock`',
      },
      {
        slip: 'a directory that cannot be used is left behind',
        after: 'await directory.#hold();',
        text: 'rmSync(path, { recursive: true, force: true });',
        becomes: '',
        noticedBy: ['primary/hop-directory'],
      },
      {
        slip: 'what was left is swept without bound',
        text: 'names.slice(0, limits.hopDirectoriesSweptMax)',
        becomes: 'names',
      },
    ],
  ),
  ...mutantsOf(
    'src/primary/run-primary.ts',
    ['primary/run-primary'],
    [
      { slip: 'the directory of the sockets stays', text: 'await hopDirectory?.remove();', becomes: '' },
      { slip: 'a damaged store is opened', text: 'await checkStore(options, entry);', becomes: '' },
      { slip: 'a program that failed ends well', text: 'if (hasFailed) return exitStatus.software;', becomes: '' },
      {
        slip: 'a drain that was cut short ends well',
        text: 'return cutShortBy === undefined ? exitStatus.ok : 128 + constants.signals[cutShortBy];',
        becomes: 'return exitStatus.ok;',
      },
      {
        slip: 'a quiet log has no line of its change',
        text: "if (!logger.isLevelEnabled('warn')) logger.level = 'warn';",
        becomes: '',
      },
      { slip: 'a second signal kills nothing', text: '    fleet.kill();', becomes: '' },
      {
        slip: 'every gateway has the same secret',
        text: 'hopSecret: randomBytes(32),',
        becomes: 'hopSecret: Buffer.alloc(32),',
      },
      {
        slip: 'absent workers are not told',
        text: 'if (absentWorkers > 0) logger.error',
        becomes: 'if (absentWorkers > 1) logger.error',
      },
      {
        slip: 'a missing key is not told when there is a secret missing too',
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
