/** ARNs of Lambda functions. Region and partition become part of a host name: nothing else may pass. */

export interface FunctionArn {
  region: string
  /** AWS's endpoint of Lambda in that region. */
  host: string
}

const domains: Record<string, string> = {
  aws: 'amazonaws.com',
  'aws-us-gov': 'amazonaws.com',
  'aws-cn': 'amazonaws.com.cn',
}

const form =
  /^arn:(aws|aws-us-gov|aws-cn):lambda:([a-z]{2}(?:-[a-z]+){1,3}-\d{1,2}):\d{12}:function:[A-Za-z0-9_-]{1,140}(?::(?:\$LATEST|[A-Za-z0-9_-]{1,128}))?$/

/** Null: it is none. */
export function parseFunctionArn(text: string): FunctionArn | null {
  const [, partition, region] = form.exec(text) ?? []
  if (partition === undefined || region === undefined) return null
  return { region, host: `lambda.${region}.${domains[partition]}` }
}
