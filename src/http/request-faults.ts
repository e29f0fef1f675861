// What is wrong with a request, field by field: every fault of the checked part, in words that say what to write.

/** As Ajv reports it with `verbose`. */
export interface SchemaFault {
  readonly keyword: string
  readonly instancePath: string
  readonly schemaPath: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
  readonly parentSchema?: {
    readonly description?: string
    readonly properties?: Readonly<Record<string, unknown>>
  }
}

export interface FieldFault {
  /** JSON pointer within the body, or `/name` of a parameter. */
  readonly path: string
  readonly message: string
}

const FAULTS_MAX = 50
/** Of so many at most anything is made; a request can have as many faults as bytes. */
export const FAULTS_SEEN_MAX = 200

export function describeFaults(faults: readonly SchemaFault[]): readonly FieldFault[] {
  const seen = faults.slice(0, FAULTS_SEEN_MAX)
  const choices = new Set(seen.filter((fault) => isChoice(fault) && isDescribed(fault)).map(placeOf))
  const holders = new Set(seen.flatMap(holdersOf))
  const told = new Map<string, FieldFault>()
  for (const fault of seen) {
    // A choice with a description explains itself; otherwise its branches do.
    const isToldElsewhere =
      isChoice(fault) && !isDescribed(fault)
        ? holders.has(fault.schemaPath)
        : !isChoice(fault) && holdersOf(fault).some((place) => choices.has(place))
    if (isToldElsewhere) continue
    const field = { path: pathOf(fault), message: messageOf(fault) }
    told.set(`${field.path} ${field.message}`, field)
    if (told.size === FAULTS_MAX) break
  }
  return [...told.values()]
}

const isChoice = ({ keyword }: SchemaFault) => keyword === 'anyOf' || keyword === 'oneOf' || keyword === 'if'
const isDescribed = ({ parentSchema }: SchemaFault) => parentSchema?.description !== undefined
const placeOf = ({ schemaPath }: SchemaFault) => schemaPath

/** Every place in the schema that the fault's own lies in. */
function holdersOf({ schemaPath }: SchemaFault): readonly string[] {
  const parts = schemaPath.split('/')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'))
}

function pathOf({ instancePath, params }: SchemaFault): string {
  const member = params.missingProperty ?? params.additionalProperty
  if (typeof member !== 'string') return instancePath === '' ? '/' : instancePath
  return `${instancePath}/${member.slice(0, 200).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
}

function messageOf(fault: SchemaFault): string {
  const { params, parentSchema } = fault
  const limit = Number(params.limit)
  switch (fault.keyword) {
    case 'required':
      return 'is missing'
    case 'additionalProperties': {
      const known = Object.keys(parentSchema?.properties ?? {})
      return known.length === 0
        ? 'is not known; nothing is taken here'
        : `is not known; known: ${known.join(', ')}`
    }
    case 'enum':
      return `must be one of ${(params.allowedValues as readonly unknown[]).join(', ')}`
    case 'const':
      return `must be ${JSON.stringify(params.allowedValue)}`
    case 'type':
      return `must be ${[params.type]
        .flat()
        .flatMap((type) => String(type).split(','))
        .map((type) => TYPES[type] ?? type)
        .join(' or ')}`
    case 'minLength':
      return limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`
    case 'maxLength':
      return `must have at most ${limit} characters`
    case 'minItems':
      return limit === 1 ? 'must not be empty' : `must have at least ${limit} entries`
    case 'maxItems':
      return `must have at most ${limit} entries`
    case 'minimum':
      return `must be at least ${limit}`
    case 'maximum':
      return `must be at most ${limit}`
    case 'minProperties':
      return `must have at least ${limit} of ${Object.keys(parentSchema?.properties ?? {}).join(', ')}`
    case 'maxProperties':
      return `must have at most ${limit} of ${Object.keys(parentSchema?.properties ?? {}).join(', ')}`
    case 'pattern':
      if (params.pattern === '\\S') return 'must hold more than spaces'
      return `does not have the right form: ${parentSchema?.description ?? `it must match ${params.pattern}`}`
    case 'format':
      return params.format === 'date-time'
        ? 'must be a time such as 2026-03-02T08:00:00Z'
        : (fault.message ?? 'is not valid')
    case 'anyOf':
    case 'oneOf':
      return `has none of the forms that are taken: ${parentSchema?.description ?? 'see /openapi.json'}`
    default:
      return fault.message ?? 'is not valid'
  }
}
