// Says what an expression reads and yields, from its text alone, and why a condition holds or not.

export { clearPaths } from './copied-paths.ts'
export { type ConditionPart, explainCondition } from './explain-condition.ts'
export {
  type Formula,
  type FormulaRead,
  type FormulaStart,
  isSameFormula,
  readFormula,
} from './read-formula.ts'
export { type AskedFields, askedFields } from './unchecked-fields.ts'
