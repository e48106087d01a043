/** What a Lambda target may be. */
import { type ErrorDetail, invocationTypes, type WireJobInput } from '@carillon/contract'
import { parseFunctionArn } from '../../domain/function-arn.ts'

export type LambdaTarget = NonNullable<WireJobInput['target']['lambda']>

export function lambdaProblems({ functionArn, invocationType }: LambdaTarget): ErrorDetail[] {
  const problems: ErrorDetail[] = []
  if (typeof functionArn !== 'string' || parseFunctionArn(functionArn) === null) {
    problems.push({
      pointer: '/target/lambda/functionArn',
      message: 'is not the ARN of a function',
      hint: 'Such as arn:aws:lambda:eu-west-1:123456789012:function:orders, or with :alias at its end',
    })
  }
  if (invocationType !== undefined && !invocationTypes.includes(invocationType)) {
    problems.push({
      pointer: '/target/lambda/invocationType',
      message: `${invocationType} is not known`,
      hint: `Use ${invocationTypes.join(' or ')}`,
    })
  }
  return problems
}
