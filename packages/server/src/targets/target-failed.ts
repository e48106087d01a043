/** Failed, and the retry policy decides. */
export class TargetFailed extends Error {
  override readonly name = 'TargetFailed'
}
