/** The operator's rules and secrets, as a handler meets them when an execution runs: what they refuse is an outcome. */
import { type BuiltInTarget, CarillonError } from '@carillon/contract'
import { PermanentError } from '@carillon/sdk'
import { type SecretRefs, SecretUnavailable } from '../config/secret-refs.ts'
import { TargetFailed } from './target-failed.ts'

/** `elsewhere`: nodes may have different lists, so what is not on this one's is tried again, perhaps by another. */
export function checkAgain(
  rules: { check(target: BuiltInTarget): void },
  target: BuiltInTarget,
  { elsewhere = false }: { elsewhere?: boolean } = {},
): void {
  try {
    rules.check(target)
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    const retried = elsewhere && error.code === 'TARGET_NOT_ALLOWED'
    throw retried ? new TargetFailed(error.message) : new PermanentError(error.message)
  }
}

/** One that is missing may be there at the next attempt. */
export async function resolveSecret(
  secrets: SecretRefs,
  ref: string,
  options?: { trusted?: boolean },
): Promise<string> {
  try {
    return await secrets.resolve(ref, options)
  } catch (error) {
    throw error instanceof SecretUnavailable ? new TargetFailed(error.message) : error
  }
}
