// Shows openapi.json as a page on which every route can be tried.

const EXAMPLE = {q: "Where is the nearest station?", source: "en", target: "de"};

function element(name, text = "", children = []) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

function typeOf(schema) {
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.oneOf) return schema.oneOf.map(typeOf).join(" or ");
  if (schema.type === "array") return `list of ${typeOf(schema.items)}`;
  return [schema.type].flat().join(" or ");
}

function fieldsTable(schema) {
  const rows = Object.entries(schema.properties).map(([name, field]) => element("tr", "", [
    element("td", "", [element("code", name + (schema.required.includes(name) ? " *" : ""))]),
    element("td", typeOf(field)),
    element("td", field.description),
  ]));
  return element("table", "", rows);
}

async function answer(method, path, body) {
  const options = {method, headers: {"Content-Type": "application/json"}};
  const response = await fetch(path, method === "POST" ? {...options, body} : {});
  const kind = response.headers.get("Content-Type") ?? "";
  const length = response.headers.get("Content-Length");
  const text = kind.includes("octet-stream") ? `${length} bytes` : await response.text();
  return `${response.status}\n${kind.includes("application/json") ? JSON.stringify(JSON.parse(text), null, 2) : text}`;
}

function section(method, path, route) {
  const shown = element("section", "", [
    element("h2", "", [element("code", `${method} ${path}`)]),
    element("p", `${route.summary}.`),
  ]);
  const body = element("textarea");
  body.setAttribute("aria-label", `Body of ${path}`);
  const schema = route.requestBody?.content["application/json"].schema;
  if (schema) {
    const example = {...EXAMPLE, translation: "Wo ist der nächste Bahnhof?"};
    const named = schema.required.filter((name) => name in example);
    body.value = JSON.stringify(Object.fromEntries(named.map((n) => [n, example[n]])), null, 2);
    shown.append(fieldsTable(schema), element("p", `Answer: ${route.responses["200"].description}.`), body);
  }
  const button = element("button", "Try");
  const output = element("pre");
  output.hidden = true;
  button.addEventListener("click", async () => {
    output.hidden = false;
    output.textContent = "…";
    output.textContent = await answer(method, path, body.value).catch((error) => String(error));
  });
  shown.append(button, output);
  return shown;
}

const description = await (await fetch("/openapi.json")).json();
document.getElementById("about").textContent = description.info.description;
document.getElementById("routes").replaceChildren(
  ...Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, route]) => section(method.toUpperCase(), path, route))),
);
