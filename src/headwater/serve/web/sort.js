// The orders in which products can be listed. Each sorts the products that are listed, not others: the best
// matches for "headphones" by price are cheap headphones, while all rows by price would begin with cables.

const DATE = /^\d{4}-\d\d-\d\d/;

export const isValue = (value) => value !== null && value !== undefined && value !== "";

// `key` is in the address; `read` returns the value to compare, `sign` is -1 for descending.
export function listOrders(cards, columns) {
  const orders = [{ key: "", label: "Relevance" }];
  const currencies = new Set(cards.filter((card) => isValue(card.price)).map((card) => card.currency));
  // Prices in two currencies have no order.
  if (currencies.size === 1) addBoth(orders, "price", "Price", ["lowest first", "highest first"], (card) => card.price);
  for (const { column, name } of columns) {
    const read = (card) => [card.fields[column]].flat()[0];
    const directions = nameDirections(cards.map(read).filter(isValue));
    if (directions) addBoth(orders, `field.${column}`, name[0].toUpperCase() + name.slice(1), directions, read);
  }
  return orders;
}

export function sortCards(cards, order) {
  if (!order?.read) return cards;
  return [...cards].sort((one, other) => compare(order.read(one), order.read(other), order.sign));
}

function addBoth(orders, key, name, [ascending, descending], read) {
  // The price may be among the columns as well.
  if (orders.some((order) => order.label === `${name}, ${ascending}`)) return;
  orders.push({ key: `${key}.asc`, label: `${name}, ${ascending}`, read, sign: 1 });
  orders.push({ key: `${key}.desc`, label: `${name}, ${descending}`, read, sign: -1 });
}

function nameDirections(values) {
  if (!values.length) return null;
  if (values.every((value) => typeof value === "number")) return ["lowest first", "highest first"];
  if (values.every((value) => typeof value === "boolean")) return ["no first", "yes first"];
  if (values.every((value) => DATE.test(value))) return ["oldest first", "newest first"];
  return ["A to Z", "Z to A"];
}

// Products without a value are last in both directions; equal ones keep their relevance.
function compare(one, other, sign) {
  if (!isValue(one) || !isValue(other)) return isValue(other) - isValue(one);
  const difference = typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), undefined, { numeric: true });
  return sign * difference;
}
