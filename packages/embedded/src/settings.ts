import { totalmem } from 'node:os'
import { HOST } from './port.ts'

const SMALL_MACHINE_BYTES = 2 * 1024 ** 3

/** A container may have less than the machine it runs on. */
function availableBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
}

/** What a caller may change. Durability stays as PostgreSQL ships it: fsync and synchronous_commit on. */
const defaults = {
  max_connections: '200',
  shared_buffers: availableBytes() < SMALL_MACHINE_BYTES ? '128MB' : '256MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  cluster_name: 'carillon',
}

/** The settings of the command line, which win over every configuration file. The last ones are not for callers. */
export function serverSettings(port: number, wanted: Record<string, string> = {}): Record<string, string> {
  return {
    ...defaults,
    ...wanted,
    port: String(port),
    listen_addresses: HOST,
    // No Unix socket: its path may have about 100 bytes only, and TCP with a password serves.
    unix_socket_directories: '',
    logging_collector: 'off',
  }
}
