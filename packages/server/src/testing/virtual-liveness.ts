import { PostgresLiveness } from '../liveness/postgres.ts'

/** However far a test moves the clock, workers could be heard all the time. */
export class VirtualLiveness extends PostgresLiveness {
  override async listeningMs(): Promise<number> {
    return Number.MAX_SAFE_INTEGER
  }
}
