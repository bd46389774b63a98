export {
  type PrimaryChannel,
  connectToPrimary,
  heartbeatPeriodMs,
  receiveFromWorker,
  sendHeartbeats,
  sendToWorker,
} from './channel.js';
export { StartFault, listenFault } from './listen-fault.js';
export type { FromWorker, StartMessage, ToWorker, ViewQuestion } from './messages.js';
export { type ServiceManager, ServiceNotice } from './service-notice.js';
export { StandingSocket, isPrivateFolder, preparedSocketPath } from './standing-socket.js';
export { StopSignals } from './stop-signals.js';
