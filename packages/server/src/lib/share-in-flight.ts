/** Concurrent callers share one computation. */
export function shareInFlight<Owner extends WeakKey, Answer>(
  make: (owner: Owner) => Promise<Answer>,
): (owner: Owner) => Promise<Answer> {
  const underWay = new WeakMap<Owner, Promise<Answer>>()
  return (owner) => {
    const made = underWay.get(owner) ?? make(owner).finally(() => underWay.delete(owner))
    underWay.set(owner, made)
    return made
  }
}
