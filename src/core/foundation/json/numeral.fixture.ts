// JSON numerals as senders write them, with their values computed independently of the code under test.

import fc from 'fast-check'

const digits = (least: number, most: number) =>
  fc
    .array(fc.constantFrom(...'0001234567899'), { minLength: least, maxLength: most })
    .map((all) => all.join(''))

const whole = fc.oneof(
  fc.constant('0'),
  fc.tuple(fc.constantFrom(...'123456789'), digits(0, 40)).map(([first, rest]) => first + rest),
)

/** Many digits, zeros at both ends, exponents in every spelling, both signs. */
export const numeralText: fc.Arbitrary<string> = fc
  .record({
    sign: fc.constantFrom('', '-'),
    whole,
    fraction: fc.option(digits(1, 40), { nil: null }),
    exponent: fc.option(
      fc
        .tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), fc.nat({ max: 60 }))
        .map(([letter, sign, size]) => `${letter}${sign}${size}`),
      { nil: null },
    ),
  })
  .map(({ sign, whole: left, fraction, exponent }) => {
    return `${sign}${left}${fraction === null ? '' : `.${fraction}`}${exponent ?? ''}`
  })

/** Another spelling of the same number. */
export function respell(text: string): fc.Arbitrary<string> {
  const { coefficient, exponent } = worthOf(text)
  const sign = coefficient < 0n ? '-' : ''
  const size = (coefficient < 0n ? -coefficient : coefficient).toString()
  return fc.tuple(fc.nat({ max: 5 }), fc.constantFrom('e', 'E')).map(([zeros, letter]) => {
    return `${sign}${size}${zeros > 0 ? `.${'0'.repeat(zeros)}` : ''}${letter}${exponent}`
  })
}

interface Worth {
  readonly coefficient: bigint
  readonly exponent: number
}

function worthOf(text: string): Worth {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const [left = '', right = ''] = mantissa.split('.')
  return {
    coefficient: BigInt(left === '-0' ? 0 : left) * 10n ** BigInt(right.length) + signed(left, right),
    exponent: Number(exponent) - right.length,
  }
}

function signed(left: string, right: string): bigint {
  const size = right === '' ? 0n : BigInt(right)
  return left.startsWith('-') ? -size : size
}

/** -1, 0 or 1. */
export function compareWorth(a: string, b: string): number {
  const [one, other] = [worthOf(a), worthOf(b)]
  const exponent = Math.min(one.exponent, other.exponent)
  const x = one.coefficient * 10n ** BigInt(one.exponent - exponent)
  const y = other.coefficient * 10n ** BigInt(other.exponent - exponent)
  return x < y ? -1 : x > y ? 1 : 0
}
