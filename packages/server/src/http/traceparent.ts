const w3c = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** The caller's trace context; one that is malformed is ignored, as the standard asks for. */
export function traceparentOf({ traceparent }: { traceparent?: string }): string | undefined {
  return traceparent !== undefined && w3c.test(traceparent) ? traceparent : undefined
}
