/** The operator's rules and secrets, as a handler meets them when an execution runs: what they refuse is an outcome. */
import { type BuiltInTarget, CarillonError } from '@carillon/contract'
import { PermanentError } from '@carillon/sdk'
import { type SecretReader, type SecretRefs, SecretRefused } from '../config/secret-refs.ts'
import { TargetFailed } from './target-failed.ts'

/** The operator does not allow it any more, or never did: what SQL enqueues is checked here first. */
export class TargetNotAllowed extends PermanentError {
  override readonly name = 'TargetNotAllowed'
}

/** `elsewhere`: nodes may have different lists, so what is not on this one's is tried again, perhaps by another. */
export function checkAgain(
  rules: { check(target: BuiltInTarget, tenant: string): void },
  { target, tenant, elsewhere = false }: { target: BuiltInTarget; tenant: string; elsewhere?: boolean },
): void {
  try {
    rules.check(target, tenant)
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    if (error.code !== 'TARGET_NOT_ALLOWED') throw new PermanentError(error.message)
    throw elsewhere ? new TargetFailed(error.message) : new TargetNotAllowed(error.message)
  }
}

/** One that is missing may be there at the next attempt: SecretUnavailable is retried. */
export async function resolveSecret(secrets: SecretRefs, ref: string, reader: SecretReader): Promise<string> {
  try {
    return await secrets.resolve(ref, reader)
  } catch (error) {
    throw error instanceof SecretRefused ? new TargetNotAllowed(error.message) : error
  }
}
