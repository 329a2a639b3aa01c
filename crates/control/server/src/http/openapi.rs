//! The OpenAPI document, made of the table of routes and of the types of crate `protocol`.

use serde_json::{Map, Value, json};
use utoipa::openapi::ComponentsBuilder;
use wayleave_protocol::event::Event;
use wayleave_protocol::problem::Problem;

use crate::access::RouteAccess;
use crate::http::call::LONGEST_KEY;
use crate::http::operation::{BodyDoc, Param, ParamKind, RequestBody, ResponseBody, SuccessResponse, Typed};
use crate::http::route::Row;
use crate::http::routes::ROWS;
use crate::http::schema;

/// The document, in JSON that people can read.
///
/// ```
/// assert!(wayleave_server::openapi().contains("\"openapi\": \"3.1.0\""));
/// ```
pub fn document() -> String {
    let mut paths = Map::new();
    for row in ROWS {
        let path = paths.entry(row.path).or_insert_with(|| json!({}));
        if let Value::Object(path) = path {
            path.insert(row.verb.name().to_lowercase(), operation(row));
        }
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Wayleave",
            "description": "The Wayleave controller: tenants, VMs, contracts, and explanations of decisions.",
            "license": { "name": "Apache-2.0" },
            "version": "1",
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": components(),
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// Types of a contract request.
const READ_AS_YAML: [&str; 5] = ["ContractSpec", "Match", "BandwidthSpec", "ObjectiveSpec", "BestEffortSpec"];

/// A contract as it is asked for is of one kind, each with keys of its own.
fn contract_kinds(schemas: &mut Value) {
    const BODIES: [(&str, &str); 3] = [
        ("BandwidthContractSpec", "bandwidth"),
        ("ObjectiveContractSpec", "objective"),
        ("BestEffortContractSpec", "bestEffort"),
    ];
    const OF_ALL: [&str; 6] = ["name", "tenant", "priority", "starts", "ends", "labels"];
    let whole = schemas["ContractSpec"].clone();
    let kind = |required: &[&str], has: &dyn Fn(&str) -> bool| {
        let properties = whole["properties"].as_object().into_iter().flatten();
        let properties: Map<String, Value> =
            properties.filter(|(key, _)| has(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
        json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false })
    };
    let is_body = |key: &str| BODIES.iter().any(|(_, body)| *body == key);
    schemas["LatencyContractSpec"] = kind(&["from", "to", "rate", "burst", "deadline"], &|key| !is_body(key));
    for (name, body) in BODIES {
        schemas[name] = kind(&[body], &|key| key == body || OF_ALL.contains(&key));
    }
    let names = std::iter::once("LatencyContractSpec").chain(BODIES.map(|(name, _)| name));
    let references: Vec<Value> = names.map(|name| json!({ "$ref": format!("#/components/schemas/{name}") })).collect();
    schemas["ContractSpec"] = json!({ "description": whole["description"], "oneOf": references });
}

/// Returns all types, and the authentication methods.
fn components() -> Value {
    // Types that any route may answer, which no single route declares.
    let mut all = Vec::new();
    for typed in [Typed::of::<Problem>(), Typed::of::<Event>()].into_iter().chain(ROWS.iter().flat_map(types)) {
        (typed.collect)(&mut all);
    }
    let components = ComponentsBuilder::new().schemas_from_iter(all).build();
    let mut value = serde_json::to_value(components).unwrap_or_default();
    schema::merge(&mut value["schemas"]);
    // Bodies that are read as YAML have no key without a value, and neither has any answer; bodies that are read as
    // JSON may have.
    let read: Vec<String> = ROWS.iter().filter_map(|row| row.body).map(|body| body.is.name()).collect();
    let read = schema::within(&value["schemas"], read.iter().map(String::as_str));
    for (name, schema) in value["schemas"].as_object_mut().into_iter().flatten() {
        if !read.contains(name) || READ_AS_YAML.contains(&name.as_str()) {
            schema::without_null(schema);
        }
    }
    schema::with_patterns(&mut value["schemas"]);
    contract_kinds(&mut value["schemas"]);
    value["schemas"]["ContractsDocument"] = json!({
        "type": "object",
        "description": "A document of kind Contracts, as `wayleave plan -f` reads it",
        "required": ["apiVersion", "kind", "spec"],
        "properties": {
            "apiVersion": { "type": "string", "enum": ["wayleave/v1"] },
            "kind": { "type": "string", "enum": ["Contracts"] },
            "metadata": { "type": "object", "properties": { "name": { "type": "string" } } },
            "spec": {
                "type": "object",
                "required": ["contracts"],
                "properties": { "contracts": { "type": "array", "items": reference("ContractSpec") } },
            },
        },
    });
    value["schemas"]["PolicyDocument"] = json!({
        "type": "object",
        "description": "A document of kind Policy, as `wayleave policy check` reads it",
        "required": ["apiVersion", "kind", "spec"],
        "properties": {
            "apiVersion": { "type": "string", "enum": ["wayleave/v1"] },
            "kind": { "type": "string", "enum": ["Policy"] },
            "metadata": { "type": "object", "properties": { "name": { "type": "string" } } },
            "spec": {
                "type": "object",
                "required": ["level", "services"],
                "properties": {
                    "level": { "type": "string", "enum": ["machine", "rack", "fabric"] },
                    "nodes": { "type": "array", "items": { "type": "string" } },
                    "peak": { "type": "string" },
                    "services": { "type": "array", "items": policy_service() },
                },
            },
        },
    });
    value["securitySchemes"] = json!({ "token": { "type": "http", "scheme": "bearer" } });
    value
}

/// All types that a route takes and gives.
fn types(row: &Row) -> Vec<Typed> {
    let body = row.body.and_then(|body| if let RequestBody::Typed(typed) = body.is { Some(typed) } else { None });
    let given = row.gives.iter().flat_map(|gives| match gives.body {
        ResponseBody::One(one) | ResponseBody::Many(one) | ResponseBody::ManyOrCsv(one) => vec![one],
        ResponseBody::Either(one, other) => vec![one, other],
        ResponseBody::Nothing
        | ResponseBody::Events
        | ResponseBody::Any
        | ResponseBody::Text(_)
        | ResponseBody::Texts(_) => Vec::new(),
    });
    body.into_iter().chain(given).collect()
}

/// Returns the schema of a service in the form of files: terms for both directions, and overrides for each direction.
fn policy_service() -> Value {
    let terms = json!({
        "min": { "type": "string" },
        "max": { "type": "string" },
        "weight": { "type": "integer", "minimum": 1, "maximum": u32::MAX },
    });
    let direction = json!({ "type": "object", "properties": terms });
    let mut properties = json!({
        "name": { "type": "string" },
        "parent": { "type": "string" },
        "tenant": { "type": "string" },
        "match": reference("Match"),
        "endpoints": { "type": "array", "items": { "type": "string" } },
        "transmit": direction,
        "receive": direction,
        "changes": { "type": "array", "items": { "type": "object", "required": ["at"] } },
        "share": { "type": "string" },
        "objective": { "type": "string", "enum": ["latency", "deadline", "completion"] },
    });
    if let (Some(all), Value::Object(terms)) = (properties.as_object_mut(), terms) {
        all.extend(terms);
    }
    json!({ "type": "object", "required": ["name"], "properties": properties })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn operation(row: &Row) -> Value {
    let mut operation = json!({
        "operationId": row.name,
        "summary": row.summary,
        "description": format!("For {}.", row.access.description()),
        "tags": [tag(row.path)],
        "parameters": parameters(row),
        "responses": responses(row),
    });
    if row.access == RouteAccess::Open {
        operation["security"] = json!([]);
    }
    if row.is_deprecated {
        operation["deprecated"] = json!(true);
    }
    if let Some(body) = row.body {
        operation["requestBody"] = request_body(body);
    }
    operation
}

/// Returns the subject of a route: the part of the path behind the version.
fn tag(path: &str) -> &str {
    let mut words = path.trim_start_matches('/').split('/');
    match (words.next(), words.next()) {
        (Some("v1"), Some(word)) => word,
        _ => "server",
    }
}

fn request_body(body: BodyDoc) -> Value {
    let mut content = Map::new();
    content.insert("application/json".to_owned(), json!({ "schema": reference(&body.is.name()) }));
    if body.is_yaml {
        content.insert("application/yaml".to_owned(), json!({ "schema": reference(&body.is.name()) }));
    }
    json!({ "required": true, "content": content })
}

fn parameters(row: &Row) -> Vec<Value> {
    let names = row.path.split('/').filter_map(|word| word.strip_prefix('{')?.strip_suffix('}'));
    let mut all: Vec<Value> = names.map(in_path).collect();
    all.extend(row.query.iter().map(in_query));
    if row.is_conditional {
        all.push(header("If-Match", "Only if its ETag equals this"));
        all.push(header("If-None-Match", "`*`: only if it does not exist yet"));
    } else if row.gives.iter().any(|gives| gives.status == 304) {
        all.push(header("If-None-Match", "Only if its ETag differs from this"));
    }
    if row.body.is_some() && !matches!(row.name, "createToken" | "createBackup" | "runCheck" | "whatIf") {
        all.push(header("Idempotency-Key", "Requests with the same key are carried out once"));
    }
    if row.name == "listEvents" {
        all.push(header("Last-Event-ID", "In a stream: continue after this event"));
    }
    all
}

fn in_path(name: &str) -> Value {
    let help = match name {
        "contract" | "vm" => "`tenant:name`, or the name alone for the token's own tenant",
        "decision" => "`tenant:number`, or the number alone for the token's own tenant",
        _ => "Its name",
    };
    let schema = match schema::pattern(name) {
        Some(pattern) => json!({ "type": "string", "pattern": pattern }),
        None => json!({ "type": "string", "minLength": 1 }),
    };
    json!({ "name": name, "in": "path", "required": true, "description": help, "schema": schema })
}

fn in_query(param: &Param) -> Value {
    let schema = match param.kind {
        ParamKind::Flag => json!({ "type": "boolean" }),
        ParamKind::Number(u64::MAX) => json!({ "type": "integer", "minimum": 0 }),
        ParamKind::Number(most) => json!({ "type": "integer", "minimum": 0, "maximum": most }),
        ParamKind::Count(most) => json!({ "type": "integer", "minimum": 1, "maximum": most }),
        ParamKind::Choice(words) => json!({ "type": "string", "enum": words }),
        ParamKind::Text => json!({ "type": "string", "minLength": 1 }),
    };
    json!({ "name": param.name, "in": "query", "required": false, "description": param.help, "schema": schema })
}

fn header(name: &str, help: &str) -> Value {
    let schema = match name {
        "Idempotency-Key" => json!({ "type": "string", "minLength": 1, "maxLength": LONGEST_KEY }),
        _ => json!({ "type": "string" }),
    };
    json!({ "name": name, "in": "header", "required": false, "description": help, "schema": schema })
}

fn responses(row: &Row) -> Value {
    let mut all = Map::new();
    for gives in row.gives {
        all.insert(gives.status.to_string(), response(gives));
    }
    let problem = json!({
        "description": "Refused or failed: `code` has the reason, `detail` a message",
        "content": { "application/problem+json": { "schema": reference("Problem") } },
    });
    all.insert("default".to_owned(), problem);
    Value::Object(all)
}

fn response(gives: &SuccessResponse) -> Value {
    let description = match gives.status {
        201 => "Created",
        204 => "Done",
        304 => "Not modified",
        _ => "Done",
    };
    let json = |schema: Value| json!({ "application/json": { "schema": schema } });
    let list = |name: &str| {
        json!({
            "type": "object",
            "required": ["items"],
            "properties": {
                "items": { "type": "array", "items": reference(name) },
                "next": { "type": "string", "description": "`after` of the next page; absent on the last one" },
            },
        })
    };
    let content = match gives.body {
        ResponseBody::Nothing => return json!({ "description": description }),
        ResponseBody::One(one) => json(reference(&one.name())),
        ResponseBody::Either(one, other) => {
            json(json!({ "anyOf": [reference(&one.name()), reference(&other.name())] }))
        }
        ResponseBody::Many(one) => json(list(&one.name())),
        ResponseBody::ManyOrCsv(one) => {
            let mut both = json(list(&one.name()));
            both["text/csv"] = json!({ "schema": { "type": "string" } });
            both
        }
        ResponseBody::Events => {
            let mut both = json(list("Event"));
            both["text/event-stream"] = json!({ "schema": { "type": "string" } });
            both
        }
        ResponseBody::Any => json(json!({ "type": "object" })),
        ResponseBody::Text(media) => json!({ media: { "schema": { "type": "string" } } }),
        ResponseBody::Texts(medias) => {
            let text = |media: &&str| ((*media).to_owned(), json!({ "schema": { "type": "string" } }));
            Value::Object(medias.iter().map(text).collect())
        }
    };
    json!({ "description": description, "content": content })
}
