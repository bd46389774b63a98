export {
  type PrimaryChannel,
  connectToPrimary,
  heartbeatPeriodMs,
  receiveFromWorker,
  sendHeartbeats,
  sendToWorker,
} from './channel.js';
export { StartFault, listenFault } from './start-fault.js';
export type { FromWorker, StartMessage, ToWorker, ViewQuestion } from './messages.js';
export { type ServiceManager, ServiceManagerNotifier } from './service-manager-notifier.js';
export { RestoredSocket, isPrivateFolder, preparedSocketPath } from './restored-socket.js';
export { StopSignals } from './stop-signals.js';
